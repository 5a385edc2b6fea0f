"""The program doveadm: what it says, and what is told when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import doveadm_program as room
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError, DoveadmProgram, NoMailbox


def program(folder: Path, script: str) -> DoveadmProgram:
    path = folder / "doveadm"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return DoveadmProgram([str(path), "-c", "conf"])


def test_it_is_given_words_and_a_text(tmp_path: Path) -> None:
    assert (
        program(tmp_path, 'echo "$@"; cat').run("save", "-m", "a b", text=b"hello\0") == b"-c conf save -m a b\nhello\0"
    )


def test_rows(tmp_path: Path) -> None:
    found = program(tmp_path, """[ "$4" = json ] && echo '[{"uid":"5","n":6}]'""")
    assert found.rows("fetch") == [{"uid": "5", "n": "6"}]


@pytest.mark.parametrize("said", ["no json", '["row"]', "7"])
def test_what_are_no_rows(tmp_path: Path, said: str) -> None:
    with pytest.raises(DoveadmError, match="not rows"):
        program(tmp_path, f"echo '{said}'").rows("fetch")


def test_what_it_says_when_it_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(DoveadmError, match="doveadm ended with 75: Error: no"):
        program(tmp_path, "echo Error: no >&2; exit 75").run("save")
    with pytest.raises(NoMailbox):
        program(tmp_path, "exit 68").run("save")


def test_it_may_not_be_there_or_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DoveadmError, match="No such file"):
        DoveadmProgram([str(tmp_path / "none")]).run("save")
    monkeypatch.setattr(room, "PATIENCE_S", 0.1)
    with pytest.raises(DoveadmError, match="has not ended"):
        program(tmp_path, "exec sleep 60").run("save")
