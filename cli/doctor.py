"""`pyrepl doctor`: shows what `pyrepl.host` says of this machine, as lines for people or as JSON."""

from __future__ import annotations

import json
from typing import Final

from rich.console import Console
from rich.text import Text

from pyrepl.host.rules import Finding, Verdict

_STYLES: Final = {Verdict.OK: "green", Verdict.ADVICE: "yellow", Verdict.PROBLEM: "bold red"}
_VERDICT_COLUMNS: Final = 9
_ABOUT_COLUMNS: Final = 18


def document_of(found: list[Finding]) -> str:
    """The findings as a JSON document."""
    return json.dumps([one._asdict() | {"verdict": one.verdict.value} for one in found], indent=2)


def show(found: list[Finding]) -> None:
    """Print the findings: a line for what was found, below it what that means and what to do."""
    console = Console(highlight=False, soft_wrap=True)
    indent = " " * (_VERDICT_COLUMNS + _ABOUT_COLUMNS)
    for one in found:
        head = Text(one.verdict.value.ljust(_VERDICT_COLUMNS), style=_STYLES[one.verdict])
        console.print(head + Text(f"{one.about.ljust(_ABOUT_COLUMNS)}{one.found}"))
        for sentence in (one.means, f"do: {one.to_do}" if one.to_do else ""):
            if sentence:
                console.print(Text(indent + sentence))
    console.print(Text(summary(found), style="bold"))


def summary(found: list[Finding]) -> str:
    """All of it in a line."""
    counts = {verdict: sum(one.verdict is verdict for one in found) for verdict in Verdict}
    problems, advice = counts[Verdict.PROBLEM], counts[Verdict.ADVICE]
    if not problems and not advice:
        return f"{len(found)} things looked at: all is well"
    return f"{len(found)} things looked at: problems {problems}, advice {advice}"
