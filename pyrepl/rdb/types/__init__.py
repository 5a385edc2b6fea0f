"""One file per value type: how each of its encodings becomes a plain Python value, and back.

table.py gathers the rows. A value's bytes begin behind its key. The rows say which versions know a type.
"""
