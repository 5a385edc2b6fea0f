"""The snapshot format (RDB): bytes in, events with plain Python values out, and back. No files, no keyspace.

| to ... | look at |
|---|---|
| read a snapshot, cut anywhere | reader.py: RdbReader, RdbLimits; what it reports: events.py |
| write one | writer.py: RdbWriter; how small is packed: settings.py |
| answer DUMP, take RESTORE | payload.py |
| know what a value looks like in Python | values.py; a vector set: vectors.py |
| know who reads which version, and which one the data needs | versions.py, opcodes.py |
| add an encoding of a type | a row and a decoder in types/ |
| add a version | a row in versions.py; the directive `rdb-version` lists its number (a test compares the two) |

Below these: cursor.py (a position in the bytes at hand), length.py, strings.py, lzf.py, packed/, checksum.py.
"""
