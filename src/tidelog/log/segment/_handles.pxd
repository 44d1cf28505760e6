cdef class FileBudget:
    cdef readonly Py_ssize_t limit
    cdef readonly Py_ssize_t open_files
    cdef int ceiling
    cdef int probe
    cdef Handle head

    cdef void push(self, Handle handle) noexcept
    cdef void drop(self, Handle handle) noexcept
    cdef bint is_used_up(self) noexcept
    cdef int shrink(self) except -1
    cdef int shrink_to(self, Py_ssize_t limit) except -1


cdef class Handle:
    cdef FileBudget budget
    cdef Handle newer
    cdef Handle older
    cdef bint is_open
    cdef bint doomed
    cdef readonly Py_ssize_t pins

    cdef void touch(self) noexcept
    cpdef int pin(self) except -1
    cpdef int unpin(self) except -1
    cpdef int ensure_open(self) except -1
