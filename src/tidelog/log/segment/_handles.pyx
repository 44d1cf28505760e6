# cython: language_level=3
"""Files that are opened when needed and closed when others need the room.

A broker holds far more segments than a process may have open files: ten thousand segments must work under a limit of
1,024. So nothing keeps a file open for long. A `Handle` knows how to open its file again; a `FileBudget` keeps the
open ones in the order of their last use and closes the oldest when there are too many.

Invariants:

- A pinned handle is never closed by the budget. Whoever gives out the file descriptor (a slice on its way to a socket)
  or does I/O that releases the interpreter lock holds a pin; the budget may be exceeded while everything is pinned.
- The last descriptors of the process are not the budget's: when they are in use (a crowd of connections took the
  others), some of the least recently used files are closed for each one that is opened.
- All bookkeeping happens in C under the interpreter lock, without calling Python in between: threads (flusher,
  cleaner, loaders) share one budget without another lock. Opening a file does release the lock, so two threads may open
  the same one; `_open` is asked to give way when it finds that it came second.
"""

cdef extern from "fcntl.h":
    int open(const char* path, int flags)
    int fcntl(int fd, int command, int argument)
    int O_PATH
    int O_CLOEXEC
    int F_DUPFD_CLOEXEC

cdef extern from "unistd.h":
    int close(int fd)


cdef class FileBudget:
    """At most `limit` open files and maps, the least recently used ones closed first; fewer while all descriptors of
    the process below the number `ceiling` are in use (0: there is none)."""

    def __cinit__(self, Py_ssize_t limit=512, int ceiling=0):
        self.limit = limit
        self.ceiling = ceiling
        self.probe = open(b"/", O_PATH | O_CLOEXEC) if ceiling > 0 else -1
        self.open_files = 0
        self.head = Handle.__new__(Handle)
        self.head.newer = self.head
        self.head.older = self.head

    def __dealloc__(self):
        if self.probe >= 0:
            close(self.probe)

    def __len__(self):
        return self.open_files

    def resize(self, Py_ssize_t limit):
        """Change the limit; closes what is too much."""
        self.limit = limit
        self.shrink()

    cdef void push(self, Handle handle) noexcept:
        # The most recently used handle is head.older; the least recently used one is head.newer.
        handle.older = self.head.older
        handle.newer = self.head
        self.head.older.newer = handle
        self.head.older = handle

    cdef void drop(self, Handle handle) noexcept:
        handle.newer.older = handle.older
        handle.older.newer = handle.newer
        handle.newer = None
        handle.older = None

    cdef bint is_used_up(self) noexcept:
        """Whether the process has no free descriptor below the ceiling: a copy of the one that is kept for this (the
        cheapest there is to make) gets the lowest number."""
        cdef int lowest = fcntl(self.probe, F_DUPFD_CLOEXEC, 0)
        if lowest >= 0:
            close(lowest)
        return lowest < 0 or lowest >= self.ceiling

    cdef int shrink(self) except -1:
        """Close what is too much. While descriptors are scarce an eighth is closed at once: asking costs a system call,
        and the crowd that took them is still coming."""
        if self.open_files > self.limit:
            self.shrink_to(self.limit)
        if self.ceiling > 0 and self.is_used_up():
            self.shrink_to(self.open_files - self.open_files // 8 - 1)
        return 0

    cdef int shrink_to(self, Py_ssize_t limit) except -1:
        cdef Handle handle = self.head.newer
        cdef Handle following
        while self.open_files > limit and handle is not self.head:
            following = handle.newer
            if handle.pins == 0:
                handle.close()
                if following.newer is None and following is not self.head:
                    break  # closing let another thread in, which took the next one away: enough for now
            handle = following
        return 0


cdef class Handle:
    """One file that can be opened again. Subclasses define `_open()` (idempotent) and `_close()`."""

    def __init__(self, FileBudget budget):
        self.budget = budget

    @property
    def opened(self):
        return self.is_open

    cdef void touch(self) noexcept:
        """This one was used last. Most calls find it so already and change nothing."""
        if self.budget.head.older is not self:
            self.budget.drop(self)
            self.budget.push(self)

    cpdef int ensure_open(self) except -1:
        """Open the file if it is closed, and mark it as used."""
        if self.is_open:
            self.touch()
            return 0
        self.pins += 1  # not to be closed by the shrinking below
        try:
            self._open()
            if not self.is_open:
                self.is_open = True
                self.budget.push(self)
                self.budget.open_files += 1
                self.budget.shrink()
        finally:
            self.pins -= 1
        return 0

    cpdef int pin(self) except -1:
        """Open the file and keep it open until `unpin`."""
        self.pins += 1
        if self.is_open:
            self.touch()
            return 0
        try:
            self.ensure_open()
        except BaseException:
            self.pins -= 1
            raise
        return 0

    cpdef int unpin(self) except -1:
        self.pins -= 1
        if self.pins == 0 and self.is_open:
            if self.doomed:
                self.close()
            elif self.budget.open_files > self.budget.limit:
                self.budget.shrink()
        return 0

    def close(self):
        """Close the file (it can be opened again): now, or when the last pin goes."""
        self.doomed = self.pins > 0
        if self.is_open and not self.doomed:
            self.is_open = False
            self.budget.drop(self)
            self.budget.open_files -= 1
            self._close()

    def _open(self):
        raise NotImplementedError

    def _close(self):
        raise NotImplementedError
