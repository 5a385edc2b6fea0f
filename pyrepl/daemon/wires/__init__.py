"""What carries the bytes between us and a peer: their users know no socket, and no descriptor but the one to poll."""
