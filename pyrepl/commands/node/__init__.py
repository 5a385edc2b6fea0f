"""Commands on the node as a whole."""
