"""The append-only file on disk: written, loaded, rewritten."""
