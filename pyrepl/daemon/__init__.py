"""The process: sockets, clock, files."""
