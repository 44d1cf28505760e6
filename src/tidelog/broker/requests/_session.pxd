cdef class View:
    cdef readonly str name


cdef class Session:
    cdef readonly str listener
    cdef readonly str security_protocol
    cdef readonly str client_host
    cdef public str principal
    cdef public View view
    cdef public object authentication
    cdef public str client_software_name
    cdef public str client_software_version
