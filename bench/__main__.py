"""`python -m bench commands fullsync rdbchannel streams`: measure, print ratios, keep the figures in bench/out/."""

from __future__ import annotations

import argparse

from bench import commands, fullsync, rdbchannel, report, streams
from tests.peers import finder

BENCHES = {"commands": commands, "fullsync": fullsync, "rdbchannel": rdbchannel, "streams": streams}


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="+", choices=BENCHES, metavar="NAME", help=" or ".join(BENCHES))
    parser.add_argument("--rounds", type=int, default=3, help="times that each server is measured (default 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="make every run so much longer or shorter")
    options = parser.parse_args()
    for name in options.names:
        bench = BENCHES[name]
        rival = f"{bench.RIVAL} ({finder.version(bench.RIVAL)})"
        rows = bench.measure(options.rounds, options.scale)
        report.show((bench.__doc__ or name).splitlines()[0], rival, rows)
        print(f"figures: {report.save(name, rival, rows)}")


if __name__ == "__main__":
    main()
