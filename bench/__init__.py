"""Side-by-side measurements against Redis 8.2 in the same run, and the demonstration that `make demo` shows.

`python -m bench NAME ...` measures and prints ratios; `python -m bench.demo` demonstrates. Nothing here is installed.
"""
