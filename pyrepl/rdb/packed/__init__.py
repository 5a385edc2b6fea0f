"""Redis's packed encodings, which hold a whole small collection in one string. A decoder takes bytes and returns the
list of elements; an encoder does the reverse.

Which type of value uses which encoding is decided in types/. Every decoder checks every length against the bytes that
it was given, and raises Malformed with the position inside the packed bytes.
"""
