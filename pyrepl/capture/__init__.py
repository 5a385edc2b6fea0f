"""A change stream in files: records, their formats, names that tell what is there, each row exactly once."""
