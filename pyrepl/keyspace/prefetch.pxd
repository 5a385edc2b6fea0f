# What prefetch.py needs beside the layout of dictionaries, which it has in numbers.
from pyrepl.rdb.compiled.raw cimport Ref

cdef extern from "Python.h":
    ctypedef struct SetObject "PySetObject":
        Py_ssize_t mask
        void* table
    Py_ssize_t hash_of "PyObject_Hash"(Ref*) except -1

ctypedef struct Place:
    # How far the search for one hash has come in one table: CPython's probing sequence (Objects/dictobject.c).
    Py_ssize_t hash
    size_t slot
    size_t perturb
    Py_ssize_t index

ctypedef struct Search:
    Py_ssize_t count
    Place places[32]
