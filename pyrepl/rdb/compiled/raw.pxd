# The C API over borrowed references: nothing here touches a reference count, so a forked child that only reads shares
# every page with its parent.

cdef extern from "Python.h":
    ctypedef struct Ref "PyObject":
        pass
    ctypedef int (*Visit)(Ref*, void*) noexcept
    ctypedef int (*Traverse)(Ref*, Visit, void*) noexcept
    ctypedef struct Type "PyTypeObject":
        Traverse tp_traverse
        Py_ssize_t tp_basicsize
    Type BYTES "PyBytes_Type"
    Type DICT "PyDict_Type"
    Type FLOAT "PyFloat_Type"
    Type SET "PySet_Type"
    Ref* NONE "Py_None"
    Type* type_of "Py_TYPE"(Ref*)
    bint next_item "PyDict_Next"(Ref*, Py_ssize_t*, Ref**, Ref**)
    Py_ssize_t dict_size "PyDict_Size"(Ref*)
    Ref* dict_get "PyDict_GetItem"(Ref*, Ref*)
    unsigned char* text_of "(unsigned char*)PyBytes_AS_STRING"(Ref*)
    Py_ssize_t size_of "PyBytes_GET_SIZE"(Ref*)
    double double_of "PyFloat_AS_DOUBLE"(Ref*)
    long long longlong_of "PyLong_AsLongLong"(Ref*)
    char* PyOS_double_to_string(double, char, int, int, int*)
    int Py_DTSF_ADD_DOT_0
    void PyMem_Free(void*)

cdef extern from "Python.h":
    Ref* item_of "PyList_GET_ITEM"(list, Py_ssize_t)
    Ref** items_of "PySequence_Fast_ITEMS"(list)

cdef extern from "stdlib.h":
    ctypedef const void* Item "const void*"
    void qsort(void*, size_t, size_t, int (*)(Item, Item) noexcept)

cdef extern from "Python.h":
    ctypedef struct BytesObject "PyBytesObject":
        Py_hash_t ob_shash
    Ref* new_bytes "PyBytes_FromStringAndSize"(const char*, Py_ssize_t)
    Ref* new_instance "PyType_GenericAlloc"(Type*, Py_ssize_t)
    ctypedef struct DictObject "PyDictObject":
        Py_ssize_t ma_used
        void* ma_keys
    # NULL when memory is out, with the error at work.
    Ref* dict_set_default "PyDict_SetDefault"(Ref*, Ref*, Ref*)
    int dict_update "PyDict_Update"(Ref*, Ref*) except -1
    Py_hash_t hash_of "PyObject_Hash"(Ref*)
    void untrack "PyObject_GC_UnTrack"(Ref*)
    Ref* error_at_work "PyErr_Occurred"()
    int dict_set "PyDict_SetItem"(Ref*, Ref*, Ref*) except -1
    Ref* new_int "PyLong_FromLongLong"(long long) except NULL
    void release "Py_DECREF"(Ref*)

cdef extern from *:
    # Has memory brought into the cache; any address will do.
    void fetch "__builtin_prefetch"(const void*)
