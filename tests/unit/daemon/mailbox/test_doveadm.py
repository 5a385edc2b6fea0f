"""What doveadm is asked, and what is told when it fails."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox import doveadm as room
from pyrepl.daemon.mailbox.doveadm import Doveadm
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError, DoveadmProgram
from pyrepl.mailbox.aligning import Aligned, AlignOrder

ORDER = AlignOrder("alice", "1" * 32, "Work/New", 1000, (Aligned("G1", 1, False), Aligned("G2", 2, False)), False, 7)


def program(folder: Path, script: str = "") -> Doveadm:
    """One that keeps what it is asked, a line each, and does what the script says."""
    path = folder / "doveadm"
    path.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(folder / "asked"))}\n{script}\n')
    path.chmod(0o755)
    return Doveadm(DoveadmProgram([str(path), "-c", "conf"]), ".")


def asked(folder: Path) -> list[str]:
    return [line.removeprefix("-c conf ") for line in (folder / "asked").read_text().splitlines()]


def test_a_mailbox_is_raised_and_a_flag_changed_and_changed_back(tmp_path: Path) -> None:
    program(tmp_path).align(ORDER)
    assert asked(tmp_path) == [
        "mailbox update -u alice --min-highest-modseq 1000 -- Work.New",
        f"flags add -u alice \\Draft mailbox Work.New mailbox-guid {ORDER.box} uid 1:2",
        f"flags remove -u alice \\Draft mailbox Work.New mailbox-guid {ORDER.box} uid 1:2",
    ]


def test_drafts_stay_such_and_a_new_log_is_begun_each_time(tmp_path: Path) -> None:
    messages = (Aligned("G1", 1, True), Aligned("G2", 2, False))
    program(tmp_path).align(ORDER._replace(messages=messages, forget=True))
    flags = asked(tmp_path)[1:]
    assert all(line.startswith("-o mail_index_log_rotate_min_size=1 -o ") for line in flags)
    assert [line.partition(" flags ")[2].split()[0] + line[-2:] for line in flags] == [
        "add 2",
        "remove 2",
        "remove 1",
        "add 1",
    ]


def test_many_messages_are_named_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_UIDS", 2)
    program(tmp_path).align(ORDER._replace(messages=tuple(Aligned("G", uid, False) for uid in (1, 2, 3))))
    assert [line.split()[-1] for line in asked(tmp_path)[1:]] == ["1:2", "1:2", "3", "3"]


@pytest.mark.parametrize("code", [64, 65, 68])
def test_dovecot_may_call_it_otherwise(tmp_path: Path, code: int) -> None:
    """By another separator, or with a prefix."""
    rows = json.dumps([{"mailbox": "INBOX", "guid": "f" * 32}, {"mailbox": "INBOX/Work/New", "guid": ORDER.box}])
    script = f'case "$*" in *Work.New) exit {code};; *list*|*status*) echo {shlex.quote(rows)};; esac'
    program(tmp_path, script).align(ORDER)
    said = asked(tmp_path)
    assert said[1:3] == [
        "-f json mailbox list -u alice",
        "-f json mailbox status -u alice -- guid INBOX INBOX/Work/New",
    ]
    assert said[3] == "mailbox update -u alice --min-highest-modseq 1000 -- INBOX/Work/New" and len(said) == 6


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo Error: no >&2; exit 75", "doveadm ended with 75: Error: no"),
        ("[ $4 = update ] && exit 68; echo []", "Dovecot shows alice no mailbox Work/New with the GUID 1111"),
    ],
)
def test_what_it_says_is_told(tmp_path: Path, script: str, why: str) -> None:
    with pytest.raises(DoveadmError, match=why):
        program(tmp_path, script).align(ORDER)


@pytest.mark.parametrize("user", ["*", "al*", "a?ice"])
def test_a_name_that_doveadm_takes_for_others_is_not_said(tmp_path: Path, user: str) -> None:
    with pytest.raises(DoveadmError, match="mean any other user"):
        program(tmp_path).align(ORDER._replace(user=user))
    assert not (tmp_path / "asked").exists()
