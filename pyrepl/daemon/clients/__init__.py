"""Client connections: sockets, batches, replies, and who is held."""
