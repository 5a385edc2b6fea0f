"""The program doveadm: what it says, and what is told when it fails."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
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


def test_one_that_outlives_its_daemon_is_waited_for(tmp_path: Path) -> None:
    """It would do its work after all was compared."""
    (tmp_path / "go").write_text("")
    script = f"echo > {tmp_path}/begun; while [ -e {tmp_path}/go ]; do sleep 0.02; done"
    killed, new = program(tmp_path, script), program(tmp_path, script)
    killed.hold(tmp_path)
    with ThreadPoolExecutor(1) as thread:
        at_work = thread.submit(killed.run, "save")
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        killed.close()
        with pytest.raises(DoveadmError, match="still at work"):
            new.hold(tmp_path)
        (tmp_path / "go").unlink()
        at_work.result(10)
    new.hold(tmp_path)
    new.close()


def test_which_process_failed_is_no_reason(tmp_path: Path) -> None:
    """Each time it would be another one, and told anew."""
    with pytest.raises(DoveadmError, match=r"75: doveadm\(alice\): Error: no"):
        program(tmp_path, "echo 'doveadm(alice)<17><Ab+/c>: Error: no' >&2; exit 75").run("save")
