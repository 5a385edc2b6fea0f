"""A node that begins again while a program still does what the life before asked it for: nothing is done twice."""

from __future__ import annotations

import resource
import shlex
from typing import Final

import pytest

from pyrepl.mailbox.client import MailboxError
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.peers.lab import Lab, wait_until
from tests.unit.daemon.mailbox.fake_doveadm import FakeDoveadm

SLOW: Final = """#!/bin/sh
case "$*" in
*"save -u"*)
    cat > {log}.$$
    echo begun >> {log}
    while [ ! -e {go} ]; do sleep 0.05; done
    {doveadm} "$@" < {log}.$$
    exit;;
esac
exec {doveadm} "$@"
"""
"""It saves no mail before the file `go` is there."""


def test_a_mail_that_a_slow_doveadm_was_asked_to_save_is_saved_once(lab: Lab) -> None:
    cluster, folder = MailboxCluster(lab, "a"), lab.folder
    fake, program = FakeDoveadm(folder), folder / "slow"
    calls, go = folder / "calls", folder / "go"
    program.write_text(SLOW.format(log=calls, go=go, doveadm=shlex.join(fake.command)))
    program.chmod(0o755)
    by_doveadm = {"mailbox-store": "doveadm", "mailbox-layout": "fs", "mailbox-poll": "500"}
    node = cluster.launch("a", **by_doveadm, **{"mailbox-doveadm": str(program)})
    node.wait_ready()
    mail, pid = cluster.client("a"), node.process.pid
    mail.create(USER, "INBOX")
    mail.append(USER, "INBOX", b"hello\n")
    wait_until("doveadm is asked", calls.exists)
    no_limit = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, no_limit[1]))
    with pytest.raises((OSError, MailboxError)):
        mail.create(USER, "Work")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, no_limit)
    node.wait_log("store_stuck")
    assert calls.read_text() == "begun\n", "nobody else is asked meanwhile"
    go.touch()
    mail = cluster.client("a")

    def saves() -> bool:
        """As soon as what was owed is done."""
        try:
            mail.append(USER, "INBOX", b"again\n")
        except MailboxError:
            return False
        return True

    wait_until("mail is taken again", saves)
    wait_until("Dovecot has both", lambda: len(fake.shown()) >= 2)
    assert [text for _, _, text in fake.shown().values()] == [b"hello\n", b"again\n"]
    assert calls.read_text() == "begun\n" * 2
