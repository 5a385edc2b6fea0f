"""The options of `pyrepl metrics`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.commands import cli
from cli.metrics import run as screen
from cli.metrics.options import Options
from pyrepl.analysis.asked import Asked

RUNNER = CliRunner()


def asked(monkeypatch: pytest.MonkeyPatch, *words: str) -> Options:
    """What the command line comes to."""
    seen: list[Options] = []

    def show(options: Options) -> int:
        seen.append(options)
        return 7

    monkeypatch.setattr(screen, "show", show)
    assert RUNNER.invoke(cli, ["metrics", *words]).exit_code == 7
    (options,) = seen
    return options


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, "logs") == Options(Asked(("logs",)))


def test_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "a b --out o --master local[2] --since 2026-11-21 --until 2026-11-22 --format json --zone Asia/Tokyo --quiet"
        " --conf a=1 --packages g:a:1 --conf b=2 --sql SHOW --sql TABLES --delta"
    )
    spark = "local[2]", ("a=1", "b=2"), "g:a:1"
    bounds = 1795219200000000, 1795305600000000
    wanted = Asked(("a", "b"), Path("o"), *spark, *bounds, "Asia/Tokyo", delta=True, sql=("SHOW", "TABLES"))
    assert asked(monkeypatch, *words.split()) == Options(wanted, "json", quiet=True)


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_a_time_that_is_none(option: str) -> None:
    done = RUNNER.invoke(cli, ["metrics", "logs", option, "soon"])
    assert done.exit_code == 2
    assert f"Invalid value for {option}: 'soon' is no time: expected 2026-11-21" in " ".join(done.output.split())


def test_following(monkeypatch: pytest.MonkeyPatch) -> None:
    options = asked(monkeypatch, *["--follow", "logs", "--out", "o", "--every", "5m", "--late", "2h"])
    assert (options.asked, options.follow) == (Asked(("logs",), Path("o"), every_s=300, late_s=7200), True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "--follow needs --out DIR"),
        ("--out o --format json", "json is written below --out after each batch"),
        ("--out o --every 0s", "'0s' is no span of time: expected 10s, 5m or 1h"),
        ("--out o --late soon", "'soon' is no span of time"),
    ],
)
def test_what_cannot_be_followed(words: str, complaint: str) -> None:
    done = RUNNER.invoke(cli, ["metrics", "--follow", "logs", *words.split()])
    assert done.exit_code == 2 and complaint in " ".join(done.output.split())


def test_results_of_an_earlier_run_are_asked_without_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    options = asked(monkeypatch, "--out", "o", "--sql", "SHOW TABLES", "--format", "csv")
    assert options == Options(Asked((), Path("o"), sql=("SHOW TABLES",)), "csv")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--sql x", "Missing argument 'LOG...'"),
        ("--out o", "Missing argument 'LOG...'"),
        (
            "logs --sql x --out o --follow",
            "--follow answers no --sql: run a second command with --sql and the same --out, without LOG",
        ),
        ("logs --sql x --format html", "--sql prints text, json, csv, not html"),
        ("logs --delta", "--delta needs LOG and --out DIR"),
        ("--sql x --out o --delta", "--delta needs LOG and --out DIR"),
        ("logs --format csv", "--format csv is for the answers of --sql"),
    ],
)
def test_what_does_not_go_with_a_statement(words: str, complaint: str) -> None:
    done = RUNNER.invoke(cli, ["metrics", *words.split()])
    assert done.exit_code == 2 and complaint in " ".join(done.output.split())


def test_no_log() -> None:
    assert "Missing argument 'LOG...'" in RUNNER.invoke(cli, ["metrics"]).output


def test_help_says_what_is_written() -> None:
    text = RUNNER.invoke(cli, ["metrics", "--help"]).output
    for said in ("report.html", "metrics.json", "metrics.prom", "results/", "Exit status"):
        assert said in text
