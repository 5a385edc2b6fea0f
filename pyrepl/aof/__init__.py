"""The append-only file as Redis 7 lays it out: names, the manifest, our place in the stream, commands in whole units.

Pure. Not here: files, fsync and the rewriting child (daemon/aof/); the snapshot that a base begins with (rdb).
"""
