"""The program doveadm: what it says, and what is told when it fails."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import doveadm_program as room
from pyrepl.daemon.mailbox import left_over
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


def begun(folder: Path, script: str) -> str:
    """A script that says when it has begun."""
    return f"{script}\necho > {folder}/begun; while true; do sleep 0.02; done"


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


@pytest.mark.parametrize("script", ["", "trap '' TERM"], ids=["it ends", "it has to be killed"])
def test_one_that_outlives_its_daemon_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """It would do its work after all was compared."""
    monkeypatch.setattr(left_over, "TERM_S", 0.1 if script else 60.0)
    killed, new = program(tmp_path, begun(tmp_path, script)), DoveadmProgram(["true"])
    killed.hold(tmp_path)
    with ThreadPoolExecutor(1) as thread:
        at_work = thread.submit(killed.run, "save")
        wait_for(tmp_path / "begun")
        killed.close()
        new.hold(tmp_path)
        with pytest.raises(DoveadmError, match="ended with -9" if script else "ended with -15"):
            at_work.result(10)
    new.close()


def test_one_that_cannot_be_ended_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_over, "TERM_S", 0.01)
    monkeypatch.setattr(left_over, "_end", lambda *args: None)
    killed = program(tmp_path, begun(tmp_path, f"echo $$ > {tmp_path}/pid"))
    killed.hold(tmp_path)
    with ThreadPoolExecutor(1) as thread:
        at_work = thread.submit(killed.run, "save")
        wait_for(tmp_path / "begun")
        killed.close()
        pid = (tmp_path / "pid").read_text().strip()
        new = DoveadmProgram(["true"])
        with pytest.raises(DoveadmError, match=rf"still at work \(process ({pid}|[0-9]+, {pid}|{pid}, [0-9]+)\)"):
            new.hold(tmp_path)
        killed.end(signal.SIGKILL)
        with pytest.raises(DoveadmError, match="ended with -9"):
            at_work.result(10)
    new.hold(tmp_path)
    new.close()


def test_at_the_end_all_are_ended_and_none_is_called(tmp_path: Path) -> None:
    made = program(tmp_path, begun(tmp_path, ""))
    with ThreadPoolExecutor(1) as thread:
        at_work = thread.submit(made.run, "save")
        wait_for(tmp_path / "begun")
        made.end(signal.SIGTERM)
        with pytest.raises(DoveadmError, match="ended with -15"):
            at_work.result(10)
    with pytest.raises(DoveadmError, match="the node ends"):
        made.run("save")


def test_whoever_was_forked_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    """As the child that writes a snapshot."""
    made = program(tmp_path, "")
    made.hold(tmp_path)
    kept = [os.dup(each) for each in made._lock]
    made.close()
    made.hold(tmp_path)
    made.close()
    for each in kept:
        os.close(each)


def test_which_process_failed_is_no_reason(tmp_path: Path) -> None:
    """Each time it would be another one, and told anew."""
    with pytest.raises(DoveadmError, match=r"75: doveadm\(alice\): Error: no"):
        program(tmp_path, "echo 'doveadm(alice)<17><Ab+/c>: Error: no' >&2; exit 75").run("save")
