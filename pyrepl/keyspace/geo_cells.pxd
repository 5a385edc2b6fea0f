# The C types of geo_cells.py.
cimport cython

cdef double _MAX_LATITUDE
cdef double _TO_RADIANS
cdef double _EARTH_M
cdef double _HALF_MERCATOR_M
cdef double _EXACT
cdef double _OUTSIDE
cdef double _SURELY
cdef double _SPARE
cdef int[::1] _RIGHT
cdef int[::1] _UP
cdef unsigned long long _ONE
cdef unsigned long long _MASK_1
cdef unsigned long long _MASK_2
cdef unsigned long long _MASK_4
cdef unsigned long long _MASK_8
cdef unsigned long long _MASK_16
cdef unsigned long long _MASK_32

@cython.final
cdef class Cells:
    cdef readonly double width
    cdef int _at
    cdef double _last
    cdef int _west
    cdef int _east
    cdef int _south
    cdef int _north
    cdef int _steps
    cdef unsigned long long _cell

    @cython.locals(at=int, right=int, up=int, low=double, is_new=bint)
    cpdef double next_low(self) noexcept

    @cython.locals(
        steps=int, cell="unsigned long long", north_span=double, edge=double, east_span=double, south=double,
        north=double, west=double, east=double,
    )
    cdef _fit(self, double longitude, double latitude, double half_width_m, double half_height_m)

@cython.locals(bits="unsigned long long")
cdef unsigned long long _spread(unsigned long long number) noexcept

@cython.locals(bits="unsigned long long")
cdef unsigned long long _gather(unsigned long long number) noexcept

@cython.locals(scale=double, north=double, east=double, down="unsigned long long", right="unsigned long long")
cpdef unsigned long long cell_of(double longitude, double latitude, int steps, double max_latitude) noexcept

cpdef unsigned long long bits_of(double score) except? 0

@cython.locals(place="unsigned long long", low=double, high=double, middle=double)
cdef double _longitude(unsigned long long cell) noexcept

@cython.locals(place="unsigned long long", scale=double, low=double, high=double, middle=double)
cdef double _latitude(unsigned long long cell) noexcept

@cython.locals(cell="unsigned long long")
cpdef tuple place_of(double score)

@cython.locals(v=double, u=double, a=double, north=double, other_north=double, root=double)
cdef double _distance(
    double longitude, double latitude, double other_longitude, double other_latitude
) noexcept

cpdef double distance(
    double longitude, double latitude, double other_longitude, double other_latitude
) noexcept

@cython.locals(
    found=list, cells=Cells, up=double, across=double, low=double, high=double, at=Py_ssize_t, index=Py_ssize_t, piece=list,
    entry=tuple, score=double, cell="unsigned long long", other_latitude=double, other_longitude=double, away_m=double,
)
cpdef list inside(
    list pieces, double longitude, double latitude, double east_m, double north_m, double far_m, bint is_box,
    Py_ssize_t most
)

@cython.locals(entry=tuple)
cpdef list members_of(list found)

@cython.locals(edge=double, part=double)
cdef double _degrees_across(double latitude, double up, double east_m) noexcept

@cython.locals(start=Py_ssize_t, end=Py_ssize_t, middle=Py_ssize_t, piece=list, entry=tuple, score=double)
cdef Py_ssize_t _first_piece(list pieces, double low) except -1

@cython.locals(start=Py_ssize_t, end=Py_ssize_t, middle=Py_ssize_t, entry=tuple, score=double)
cdef Py_ssize_t _first_entry(list piece, double low) except -1

cdef double _away_in_box(
    double longitude, double latitude, double other_longitude, double other_latitude, double east_m, double north_m
) noexcept

@cython.locals(steps=int)
cpdef int steps_for(double radius_m, double latitude) noexcept

@cython.locals(scale=double)
cdef double _south_end(unsigned long long cell, int steps) noexcept

@cython.locals(scale=double)
cdef double _north_end(unsigned long long cell, int steps) noexcept

@cython.locals(scale=double)
cdef double _west_end(unsigned long long cell, int steps) noexcept

@cython.locals(scale=double)
cdef double _east_end(unsigned long long cell, int steps) noexcept

@cython.locals(side="unsigned long long", right="unsigned long long", up="unsigned long long")
cdef unsigned long long _beside(unsigned long long cell, int steps, int east, int north) noexcept

@cython.locals(cell="unsigned long long", number="unsigned long long")
cpdef bytes text_of(double score)
