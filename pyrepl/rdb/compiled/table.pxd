from pyrepl.rdb.compiled.places cimport AT_ONCE
from pyrepl.rdb.compiled.raw cimport Ref

# A key that is decoded and not in the table yet; `end`: where the next one begins.
ctypedef struct Found:
    Ref* key
    Ref* value
    Py_ssize_t end
    long long at_ms
    bint expiring
    # Seconds, and a counter; -1 where none stands before the key.
    long long idle_s
    int frequency

ctypedef struct Handful:
    Found items[AT_ONCE]

cdef int foresee(dict table, Py_ssize_t count) except -1
