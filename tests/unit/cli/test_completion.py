"""What a shell is offered: our commands, options, every directive, and values where they are few."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from cli.commands import cli
from cli.completion import PROGRAM, SHELLS, VARIABLE
from pyrepl.config.directives import ROWS

ROOT = Path(__file__).parents[3]


def offered(*words: str) -> list[str]:
    """What follows the words before the last one, which is being typed."""
    *before, typed = words
    return [item.value for item in ShellComplete(cli, {}, PROGRAM, VARIABLE).get_completions(before, typed)]


def test_commands() -> None:
    assert offered("") == ["completion", "doctor", "mailbox", "master", "metrics", "replica", "status", "tail"]
    assert offered("re") == ["replica"]


@pytest.mark.parametrize("command", ["master", "replica"])
def test_every_directive(command: str) -> None:
    names = {f"--{name}" for name, row in ROWS.items() if not row.hidden}
    assert names <= set(offered(command, "--"))
    assert "--config" in offered(command, "--")
    assert offered(command, "--port", "7000", "--logl") == ["--loglevel"]
    hidden = {f"--{name}" for name, row in ROWS.items() if row.hidden}
    assert hidden and not hidden & set(offered(command, "--"))


def test_streams_and_formats() -> None:
    assert offered("tail", "--stream", "") == ["keys", "commands", "caches", "sync"]
    assert offered("tail", "h:1", "--stream", "ca") == ["caches"]
    assert offered("tail", "--format", "") == ["lines", "json", "table", "parquet"]
    assert {"--from", "--match", "--save-token", "--to", "--roll-bytes"} <= set(offered("tail", "--"))
    (folder,) = ShellComplete(cli, {}, PROGRAM, VARIABLE).get_completions(["tail", "--to"], "cap")
    assert (folder.type, folder.value) == ("dir", "cap")


def test_values() -> None:
    assert offered("master", "--loglevel", "") == ["debug", "verbose", "notice", "warning", "nothing"]
    assert offered("master", "--port", "7000", "--loglevel", "n") == ["notice", "nothing"]
    assert offered("replica", "--replica-read-only", "y") == ["yes"]
    assert offered("master", "--port", "") == []
    assert offered("master", "--nosuch", "") == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [(("master", "conf/m"), "file"), (("master", "--dir", ""), "dir"), (("master", "--logfile", "x"), "file")],
)
def test_files(words: tuple[str, ...], kind: str) -> None:
    *before, typed = words
    (item,) = ShellComplete(cli, {}, PROGRAM, VARIABLE).get_completions(before, typed)
    assert (item.type, item.value) == (kind, typed)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_the_one_that_click_makes(shell: str) -> None:
    printed = CliRunner().invoke(cli, ["completion", shell], prog_name=PROGRAM)
    assert printed.exit_code == 0
    environment = {**os.environ, VARIABLE: f"{shell}_source"}
    command = [sys.executable, "-c", "from cli.commands import cli; cli(prog_name='pyrepl')"]
    by_click = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert printed.output.strip() == by_click.stdout.strip()
    assert VARIABLE in printed.output


def test_bash_takes_it(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(CliRunner().invoke(cli, ["completion", "bash"], prog_name=PROGRAM).output)
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bash_that_has_it_completes(tmp_path: Path) -> None:
    """The Tab key: bash runs our function, which runs the program."""
    script = tmp_path / "completion"
    script.write_text(CliRunner().invoke(cli, ["completion", "bash"], prog_name=PROGRAM).output)
    tab = (
        f"source {script}; COMP_WORDS=(pyrepl master --repl-backlog-s); COMP_CWORD=2;"
        f' _pyrepl_completion {Path(sys.executable).with_name(PROGRAM)}; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", tab], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.stdout.split(), done.returncode) == (["--repl-backlog-size"], 0), done.stderr


def test_an_unknown_shell() -> None:
    result = CliRunner().invoke(cli, ["completion", "tcsh"], prog_name=PROGRAM)
    assert result.exit_code == 2 and "'bash', 'zsh', 'fish'" in result.output
