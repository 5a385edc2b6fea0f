"""Fuzzers for what reads bytes of others: hostile snapshots, edits of what they held, requests, streams, masters.

    python -m tests.fuzz --minutes 60                  every target in turn, the compiled form under AddressSanitizer
    python -m tests.fuzz --target edits --seed 1234    one case again

A case is made of its seed alone and is small: it ends within seconds of processor time. A finding is whatever ends the
process, a report of the sanitizer, an exception that no caller expects, a case that does not end, memory beyond a
bound, and what a target's own comparison calls wrong. The seed that led to it is printed with the end of the output.

`build` makes the compiled form with the sanitizer, in a folder of its own; `hostile` makes broken snapshots and
payloads; `worker` runs cases in a process that may die; `__main__` starts that and tells what happened.
"""
