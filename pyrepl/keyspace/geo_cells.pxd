# The C types of geo_cells.py.
cimport cython

cdef double _MAX_LATITUDE
cdef double _MAX_LONGITUDE
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
cdef class Area:
    cdef readonly double longitude
    cdef readonly double latitude
    cdef readonly double west
    cdef readonly double east
    cdef readonly double south
    cdef readonly double north
    cdef readonly double far_m
    cdef bint _is_box
    cdef list _vertices
    cdef double _east_m
    cdef double _north_m
    cdef double _up
    cdef double _across
    cdef double _east_radians
    cdef double _north_radians
    cdef double _north_cos

    cdef _place(self, double longitude, double latitude)

    @cython.locals(latitude=double, north_span=double, edge=double, east_span=double)
    cdef _reach(self, double east_m, double north_m, double far_m)

    @cython.locals(
        vertex=tuple, longitude=double, latitude=double, x=double, y=double, z=double, right=double, up=double,
        middle=double, edge=double,
    )
    cdef _span(self, list vertices)

    cdef double _distance_to(self, double longitude, double latitude) noexcept

    @cython.locals(longitude=double, latitude=double, away_m=double)
    cdef double _away(self, unsigned long long cell) except? -2.0

    @cython.locals(
        is_inside=bint, vertex=tuple, last=tuple, right=double, up=double, last_right=double, last_up=double,
    )
    cdef bint _surrounds(self, double longitude, double latitude) except -1

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

    @cython.locals(steps=int, cell="unsigned long long")
    cdef _fit(self, Area area)

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

@cython.locals(north=double)
cdef double _distance(
    double longitude, double latitude, double other_longitude, double other_latitude
) noexcept

@cython.locals(v=double, u=double, a=double, other_north=double, root=double)
cdef double _arc(
    double east, double north, double north_cos, double other_longitude, double other_latitude
) noexcept

cpdef double distance(
    double longitude, double latitude, double other_longitude, double other_latitude
) noexcept

@cython.locals(area=Area)
cpdef Area circle(double longitude, double latitude, double radius_m)

@cython.locals(area=Area)
cpdef Area box(double longitude, double latitude, double east_m, double north_m, double far_m)

@cython.locals(area=Area)
cpdef Area polygon(list vertices)

@cython.locals(
    found=list, cells=Cells, low=double, high=double, at=Py_ssize_t, index=Py_ssize_t, piece=list, entry=tuple,
    score=double, away_m=double,
)
cpdef list inside(list pieces, Area area, Py_ssize_t most)

@cython.locals(entry=tuple)
cpdef list members_of(list found)

@cython.locals(edge=double, part=double)
cdef double _degrees_across(double latitude, double up, double east_m) noexcept

@cython.locals(start=Py_ssize_t, end=Py_ssize_t, middle=Py_ssize_t, piece=list, entry=tuple, score=double)
cdef Py_ssize_t _first_piece(list pieces, double low) except -1

@cython.locals(start=Py_ssize_t, end=Py_ssize_t, middle=Py_ssize_t, entry=tuple, score=double)
cdef Py_ssize_t _first_entry(list piece, double low) except -1

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
