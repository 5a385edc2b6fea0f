from pyrepl.rdb.compiled.raw cimport Ref

cdef enum:
    AT_ONCE = 32

ctypedef struct Place:
    # How far the search for one hash has come in one table.
    Py_ssize_t hash
    size_t slot
    size_t perturb
    Py_ssize_t index

# The caller fills in the hashes, and how many.
ctypedef struct Search:
    Py_ssize_t count
    Place places[AT_ONCE]

cdef void ask_for_place(Ref* table, Ref* key) noexcept
cdef void ask_for_rival(Ref* table, Ref* key) noexcept
cdef void look_ahead(Search* search, Ref* table) noexcept
