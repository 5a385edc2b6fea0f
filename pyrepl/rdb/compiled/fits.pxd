# What the headers say that this is compiled with.

cdef extern from "Python.h":
    long VERSION "(PY_VERSION_HEX >> 16)"
    Py_ssize_t OBJECT_SIZE "((Py_ssize_t)sizeof(PyObject))"
    # With the NUL behind the text, without what is put behind that so that the next object lies well.
    Py_ssize_t BYTES_SIZE "((Py_ssize_t)offsetof(PyBytesObject, ob_sval) + 1)"
    Py_ssize_t DICT_SIZE "((Py_ssize_t)sizeof(PyDictObject))"
    Py_ssize_t FLOAT_SIZE "((Py_ssize_t)sizeof(PyFloatObject))"
    Py_ssize_t LIST_SIZE "((Py_ssize_t)sizeof(PyListObject))"
    Py_ssize_t SET_SIZE "((Py_ssize_t)sizeof(PySetObject))"
