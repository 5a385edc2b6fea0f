"""A process that reads for an analysis: ranges of files come on standard input, what became of each goes out.

A line of JSON each way; it ends with its input, and so with whoever started it (readers.py). Not a program for
people: python -m pyrepl.analysis.reader TABLES ZONE.
"""

from __future__ import annotations

import json
import signal
import sys

import pyarrow as pa

from pyrepl.metrics.part import Split, WriteError, read_split


def main() -> None:
    """Read range after range. What cannot be written is told; any other error is one of ours, and ends the process."""
    # Ctrl-C reaches all processes of a terminal; this one is ended by the one that started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # There is a process for each processor.
    pa.set_cpu_count(1)
    tables, zone = sys.argv[1:]
    for line in sys.stdin:
        try:
            answer = read_split(Split(*json.loads(line)), tables, zone).to_json()
        except WriteError as error:
            answer = json.dumps({"cannot_write": str(error)})
        print(answer, flush=True)


if __name__ == "__main__":
    main()
