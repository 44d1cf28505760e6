from tidelog.broker.requests._taker cimport Taker
from tidelog.broker.requests._writer cimport Writer


cdef class GroupTaker(Taker):
    cdef object runtime
    cdef Writer out
