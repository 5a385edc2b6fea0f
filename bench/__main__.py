"""`python -m bench [NAME ...]`: measure, print ratios, keep the figures in bench/out/; without a name, everything."""

from __future__ import annotations

import argparse
import importlib.metadata

from bench import (
    apply,
    attacks,
    commands,
    during_sync,
    fullsync,
    latency,
    mailboxes,
    memory,
    metrics,
    partial,
    plot,
    rdbchannel,
    replicated,
    report,
    start,
    streams,
    tls,
)
from tests.peers import finder

BENCHES = {
    "apply": apply,
    "attacks": attacks,
    "commands": commands,
    "during-sync": during_sync,
    "fullsync": fullsync,
    "latency": latency,
    "mailboxes": mailboxes,
    "memory": memory,
    "metrics": metrics,
    "partial": partial,
    "rdbchannel": rdbchannel,
    "replicated": replicated,
    "start": start,
    "streams": streams,
    "tls": tls,
}


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHES)}; default all")
    parser.add_argument("--rounds", type=int, default=5, help="times that each server is measured (default 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="make every run so much longer or shorter")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHES)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    for name in options.names or BENCHES:
        bench = BENCHES[name]
        rival = _named(bench.RIVAL)
        rows = bench.measure(options.rounds, options.scale)
        third = getattr(bench, "BESIDE", report.BESIDE)
        report.show((bench.__doc__ or name).splitlines()[0], rival, rows, third)
        beside = f", beside {_named(third)}" if any(row.beside for row in rows) else ""
        print(f"figures: {report.save(name, rival + beside, rows)}")
        print(f"picture: {plot.ratios(name, f'pyrepl to {rival}', {row.what: row.ratio for row in rows})}")


def _named(rival: str) -> str:
    """A server, or a library of Python's, with its version."""
    is_server = rival in (*finder.PEERS, finder.DOVECOT)
    return f"{rival} ({finder.version(rival) if is_server else importlib.metadata.version(rival)})"


if __name__ == "__main__":
    main()
