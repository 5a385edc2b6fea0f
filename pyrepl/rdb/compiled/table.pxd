from pyrepl.rdb.compiled.raw cimport Ref

cdef enum:
    AT_ONCE = 32

# A key that is decoded and not in the table yet; `end`: where the next one begins.
ctypedef struct Found:
    Ref* key
    Ref* value
    Py_ssize_t end
    long long at_ms
    bint expiring

ctypedef struct Handful:
    Found items[AT_ONCE]

cdef int foresee(dict table, Py_ssize_t count) except -1
cdef void ask_for_place(Ref* table, Ref* key) noexcept
cdef void ask_for_rival(Ref* table, Ref* key) noexcept
