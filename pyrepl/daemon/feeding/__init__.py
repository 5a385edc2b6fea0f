"""Our replicas: their connections, and the stream and snapshots that go out to them."""
