"""Tables of keys: what one must be able to do (`store`), and the plain one, of two dictionaries (`plain`)."""
