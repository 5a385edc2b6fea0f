cimport cython
from pyrepl.rdb.compiled.raw cimport Item, Ref

ctypedef struct Scored:
    double score
    Ref* member

@cython.final
cdef class References:
    # Borrowed references that grow; `failed`: memory ran out.
    cdef Ref** items
    cdef Py_ssize_t count
    cdef Py_ssize_t room
    cdef bint failed

cdef int collect(Ref* item, void* into) noexcept
cdef int by_score(Item left, Item right) noexcept
cdef int by_number(Item left, Item right) noexcept
