"""Our master: the connection to it, what comes, and how its snapshot is loaded."""
