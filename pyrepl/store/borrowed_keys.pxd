cimport cython
from pyrepl.rdb.compiled.raw cimport Ref

@cython.final
cdef class Frozen:
    # All keys of two dictionaries, from `place` on.
    cdef dict values
    cdef dict expires
    cdef Py_ssize_t place
    cdef bint next(self, Ref** key, Ref** value) noexcept
    cdef Ref* expiry_of(self, Ref* key) noexcept
