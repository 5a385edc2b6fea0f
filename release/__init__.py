"""What a release consists of, made twice and compared: `python -m release OUT` (make dist)."""
