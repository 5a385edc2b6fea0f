"""The machine that a node runs on: what is known of it, and what that means for a node. Reading it is the daemon's."""
