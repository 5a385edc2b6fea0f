"""Redis's packed encodings: a whole small collection in one string. bytes in, list of elements out, and back.

Which type uses which is decided in types/. All decoders check every length against the bytes they were given and
raise Malformed with the position inside the packed bytes.
"""
