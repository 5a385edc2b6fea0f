"""`pyrepl metrics` at work: progress, what is missing said plainly, what was found printed, the exit code.

Its options are in command.py, progress in watch.py, what is printed in results.py; the work is pyrepl.analysis.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyrepl.analysis.failures import DISK_FULL, CannotRun, in_plain_words
from pyrepl.analysis.needs import why_no_delta, why_not
from pyrepl.analysis.place import tables_of
from pyrepl.errors import ConfigError
from pyrepl.metrics.given import is_elsewhere, why_absent

from ..pages import IMPOSSIBLE, INTERRUPTED, OK
from .answers import print_answer
from .options import Options
from .results import print_batch, print_report
from .watch import Watch

if TYPE_CHECKING:
    from pyrepl.analysis.follow import Batch
    from pyrepl.analysis.queries import Answer

_AGO: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def show(options: Options) -> int:
    """Analyse the logs and print or write what was asked for; the exit code."""
    asked = options.asked
    complaint = why_not() or (asked.delta and why_no_delta()) or why_not_there(asked.logs, follow=options.follow)
    if complaint:
        return _fail(complaint)
    # What py4j, between Python and Java, would say of each error before we do: a traceback, on standard error.
    logging.getLogger("py4j").addHandler(logging.NullHandler())
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        # First of all, as what has to be imported takes seconds.
        with Watch(quiet=options.quiet) as watch:
            watch.step("prepare")
            _work(options, watch)
    except BrokenPipeError:
        # Whoever read along (`| head`) has gone; Python must not stumble over that again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (CannotRun, ConfigError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(DISK_FULL if error.errno == errno.ENOSPC else in_plain_words(error))
    except KeyboardInterrupt:
        sys.stderr.write("pyrepl metrics: interrupted; what was read before stays, the next run goes on from there\n")
        return INTERRUPTED
    return OK


def _work(options: Options, watch: Watch) -> None:
    """Raises CannotRun, ConfigError, OSError."""
    if not options.asked.logs:
        _query(options, watch)
        return
    with tables_of(options.asked.out) as tables:
        (_follow if options.follow else _once)(options, tables, watch)


def _query(options: Options, watch: Watch) -> None:
    from pyrepl.analysis.run import query

    query(options.asked, watch, partial(_answer, options, watch))


def _once(options: Options, tables: Path, watch: Watch) -> None:
    from pyrepl.analysis.run import run

    answer = partial(_answer, options, watch)
    report, charts = run(options.asked, tables, watch, draws=options.format == "html", tell=answer)
    watch.stop()
    if not options.asked.sql:
        print_report(report, options, charts)


def _answer(options: Options, watch: Watch, answer: Answer) -> None:
    watch.stop()
    print_answer(answer, options.format)


def _follow(options: Options, tables: Path, watch: Watch) -> None:
    from pyrepl.analysis.follow import follow

    def told(batch: Batch) -> None:
        if not options.quiet:
            print_batch(batch)

    follow(options.asked, tables, watch, partial(_begun, options, watch), told)
    if not options.quiet:
        sys.stderr.write("pyrepl metrics: stopped; the next start with this --out goes on from here\n")


def _begun(options: Options, watch: Watch) -> None:
    """The stream runs; its batches are what there is to see."""
    watch.stop()
    if not options.quiet:
        sys.stderr.write("pyrepl metrics: follows the logs; a line tells of each batch that had news\n")


def _fail(why: str) -> int:
    sys.stderr.write(f"pyrepl metrics: {why}\n")
    return IMPOSSIBLE


def why_not_there(logs: tuple[str, ...], *, follow: bool) -> str:
    """Which of the logs are not there, or nothing. Asked before Spark starts, which takes its time; Spark is asked for
    those that are elsewhere."""
    missing: dict[str, list[str]] = {}
    for log in logs:
        unseen = "--follow reads what this machine sees: mount it" if follow else ""
        missing.setdefault(unseen if is_elsewhere(log) else why_absent(log), []).append(log)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in missing.items() if why)


def moment(text: str, now_us: int) -> int:
    """Unix us of `2026-11-21`, `2026-11-21T10:56:24`, with or without a zone (else UTC), or `2h`, `7d` ago.

    Raises ValueError for anything else.
    """
    ago = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if ago is not None:
        return now_us - int(ago[1]) * _AGO[ago[2]] * 1_000_000
    at = datetime.fromisoformat(text.strip())
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1_000_000)
