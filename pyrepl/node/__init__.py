"""The state of one node: all that commands read and change and INFO shows. No protocol, no sockets, no clock."""
