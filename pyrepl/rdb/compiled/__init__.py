"""What runs as C or not at all: the loops that need pointers, borrowed references or raw buffers.

Each module here does faster what the rooms around it do in plain Python, which asks `COMPILED` before it calls. Written
in Cython's pure Python mode, so importing one that is not compiled does no harm. `raw.pxd` is the C API without
reference counts, the other `.pxd` say what modules offer each other as C.
"""

from pyrepl.rdb.compiled import fits as fits
