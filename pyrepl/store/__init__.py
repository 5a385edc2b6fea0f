"""Tables of keys: the methods that every table has (`store`), and the plain table of two dictionaries (`plain`)."""
