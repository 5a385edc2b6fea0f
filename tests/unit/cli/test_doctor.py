"""`pyrepl doctor`: its screen, its JSON and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.commands import cli
from cli.doctor import document_of, show, summary
from pyrepl.host.rules import Finding, Verdict

OK = Finding("swap", Verdict.OK, "none")
ADVICE = Finding("clock", Verdict.ADVICE, "slow", "logs differ", "apt-get install chrony")
PROBLEM = Finding("dir", Verdict.PROBLEM, "/no: there is no such folder", "no snapshots", "make the folder")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *words], prog_name="pyrepl")


def configured(tmp_path: Path, folder: Path) -> str:
    # One client needs so few descriptors that the limit of whoever runs the test is enough.
    file = tmp_path / "node.conf"
    file.write_text(f"dir {folder}\nmaxclients 1\n")
    return str(file)


def test_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    show([OK, ADVICE])
    assert capsys.readouterr().out.splitlines() == [
        "ok       swap              none",
        "advice   clock             slow",
        f"{'':27}logs differ",
        f"{'':27}do: apt-get install chrony",
        "2 things looked at: problems 0, advice 1",
    ]


def test_summary() -> None:
    assert summary([OK]) == "1 things looked at: all is well"
    assert summary([OK, ADVICE, PROBLEM]) == "3 things looked at: problems 1, advice 1"


def test_document() -> None:
    assert json.loads(document_of([PROBLEM])) == [
        {
            "about": "dir",
            "verdict": "problem",
            "found": "/no: there is no such folder",
            "means": "no snapshots",
            "to_do": "make the folder",
        }
    ]


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    result = run("--config", configured(tmp_path, tmp_path / "no"))
    assert result.exit_code == 1
    assert f"problem  dir               {tmp_path / 'no'}: there is no such folder" in result.output


def test_followed_advice_is_heard_no_more(tmp_path: Path) -> None:
    config = configured(tmp_path, tmp_path / "data")
    assert run("--config", config, "--json").exit_code == 1
    (tmp_path / "data").mkdir()
    result = run("--config", config, "--json")
    verdicts = {one["about"]: one["verdict"] for one in json.loads(result.output)}
    assert verdicts["dir"] != "problem"
    assert (result.exit_code == 1) is ("problem" in verdicts.values())


def test_without_a_configuration_no_folder_is_looked_at() -> None:
    result = run("--json")
    assert "dir" not in [one["about"] for one in json.loads(result.output)]


def test_a_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    result = run("--config", str(tmp_path / "no.conf"))
    assert result.exit_code == 1
    assert "pyrepl: cannot read the configuration file" in result.output and result.output.count("\n") == 1
