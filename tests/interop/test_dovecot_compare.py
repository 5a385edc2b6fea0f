"""`pyrepl mailbox compare` by IMAP: what real Dovecots show, beside each other and beside what a node knows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair
from tests.peers.certificates import Authority
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.lab import Lab, pyrepl_command
from tests.peers.ports import HOST, free_port

TEXT = b"Subject: one\r\n\r\nline\r\n"


def compared(*words: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
    command = [*pyrepl_command(), "mailbox", "compare", *words]
    environment = {**os.environ, "PYREPL_PASSWORD": password}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def url(dovecot: Dovecot, user: str = USER) -> str:
    return f"imap://{user}@{HOST}:{dovecot.imap_port}"


def node_of(pair: DovecotPair, name: str) -> str:
    return f"{HOST}:{pair.cluster.nodes[name].port}"


def is_same(*words: str) -> bool:
    result = compared(*words)
    assert not result.stderr
    return (result.returncode, result.stdout) == (0, "")


def told(result: subprocess.CompletedProcess[str], one: str, other: str) -> list[str]:
    """The lines, with A and B for the two addresses, and without GUIDs, which nobody knows before."""
    lines = result.stdout.replace(one.rpartition("@")[2], "A").replace(other.rpartition("@")[2], "B")
    return re.sub(r"(UID \d+) \S+:", r"\1 GUID:", lines).splitlines()


def fill(pair: DovecotPair) -> None:
    """Some mail on a, in folders with all kinds of names, and all of it on b."""
    one = pair.imap("a")
    for folder in ("Work", "Work/2026", '"Entw&APw-rfe"', "007"):
        one.create(folder)
    one.subscribe("Work/2026")
    for number in range(7):
        append(one, TEXT, "(\\Seen kw)" if number % 2 else "", "INBOX" if number < 4 else "Work/2026")
    one.store("1", "+FLAGS", "\\Deleted")
    one.expunge()
    pair.wait_equal(pair.imap("a"), pair.imap("b"))
    pair.wait_equal(pair.imap("a", "Work/2026"), pair.imap("b", "Work/2026"))
    pair.cluster.client("b").check()


@pytest.mark.parametrize("version", ["2.3", "2.4"])
def test_nothing_differs_and_then_all_that_does_is_told(lab: Lab, version: str) -> None:
    separated = "namespace inbox {\n inbox = yes\n separator = /\n}\n"
    with dovecot_pair(lab, settings=separated, versions={"b": version}) as pair:
        fill(pair)
        a, b = (url(pair.dovecots[name]) for name in "ab")
        assert is_same(a, b) and is_same(node_of(pair, "a"), b) and is_same(b, node_of(pair, "a"), "--only", USER)
        for name in "ab":
            pair.cluster.nodes[name].terminate()
        one, other = pair.imap("a"), pair.imap("b")
        one.store("1", "+FLAGS", "(\\Flagged)")
        one.create("New")
        other.store("2", "+FLAGS", "\\Deleted")
        other.expunge()
        other.unsubscribe("Work/2026")
        result = compared(a, b)
        assert result.returncode == 1, result.stderr
        assert told(result, a, b) == [
            "alice INBOX: UID 2 GUID: \\Flagged \\Seen kw at A, \\Seen kw at B",
            "alice INBOX: UID 3 GUID: only at A",
            "alice New: only at A",
            "alice Work/2026: subscribed 1 at A, 0 at B",
        ]


def alone(more: str = "", users: tuple[str, ...] = (USER,)) -> Dovecot:
    """A Dovecot that no pyrepl is beside."""
    return Dovecot(users, settings=more, is_ours=True)


def with_mail(dovecot: Dovecot, *folders: str, user: str = USER) -> None:
    session = dovecot.imap(user)
    for folder in folders:
        session.create(folder)
        session.append(folder, "(\\Seen)", "", TEXT)
    session.append("INBOX", "", "", TEXT)
    session.logout()


def test_namespaces_are_named_alike(tmp_path: Path) -> None:
    """One has its mailboxes below INBOX, with dots; the other one at the top, with slashes, and public ones besides."""
    prefixed = "namespace inbox {\n inbox = yes\n prefix = INBOX.\n separator = .\n}\n"
    (tmp_path / "public" / ".News" / "cur").mkdir(parents=True)
    place = f"type = public\n prefix = Public/\n separator = /\n location = maildir:{tmp_path}/public"
    public = f"namespace inbox {{\n inbox = yes\n separator = /\n}}\nnamespace public {{\n {place}\n}}\n"
    with alone(prefixed) as one, alone(public) as other:
        with_mail(one, "INBOX.Work.2026")
        for dovecot in (one, other):
            dovecot.stop()
        shutil.copytree(one.mail(), other.mail())
        for dovecot in (one, other):
            dovecot.start()
        result = compared(url(one), url(other))
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        session = other.imap()
        assert "Public/News" in str(session.list())
        session.append("Work/2026", "", "", TEXT)
        assert told(compared(url(one), url(other)), url(one), url(other)) == [
            "alice Work/2026: uidnext 2 at A, 3 at B",
            "alice Work/2026: UID 2 GUID: only at B",
        ]


def test_by_tls_and_by_starttls(tmp_path: Path) -> None:
    authority, port = Authority(tmp_path), free_port()
    pem = authority.issue()
    listener = f"service imap-login {{\n inet_listener imaps {{\n port = {port}\n ssl = yes\n }}\n}}\n"
    with alone(f"ssl = required\nssl_cert = <{pem}\nssl_key = <{pem}\n{listener}") as dovecot:
        by_tls, by_starttls = f"imaps://{USER}@{HOST}:{port}", url(dovecot)
        trusted = "--cacert", str(authority.ca_file)
        result = compared(by_tls, by_starttls, "--tls", *trusted)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        result = compared(by_tls, by_tls)
        assert result.returncode == 2 and "its certificate is not to be trusted" in result.stderr


def test_without_tls_there(tmp_path: Path) -> None:
    with alone() as dovecot:
        result = compared(url(dovecot), url(dovecot), "--tls")
        assert result.returncode == 2 and "STARTTLS" in result.stderr
        result = compared(url(dovecot).replace("imap:", "imaps:"), url(dovecot))
        assert result.returncode == 2 and "does not speak TLS on this port" in result.stderr


def test_a_password_that_is_wrong(tmp_path: Path) -> None:
    with alone() as dovecot:
        result = compared(url(dovecot), url(dovecot), password="other-word")
        assert result.returncode == 2 and f"does not let {USER} in" in result.stderr
        assert "other-word" not in result.stderr


def test_a_master_user_reads_the_mail_of_another(tmp_path: Path) -> None:
    masters = tmp_path / "masters"
    masters.write_text("root:word::::::\n")
    tmp_path.chmod(0o755)
    master = f"passdb {{\n driver = passwd-file\n master = yes\n args = scheme=PLAIN {masters}\n}}\n"
    with alone(master, (USER, "bob")) as dovecot:
        with_mail(dovecot, "Work", user="bob")
        one = url(dovecot, "root")
        result = compared(one, url(dovecot, "root"), "--only", "bob", password="word")
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        result = compared(one, url(dovecot, f"{USER}:{PASSWORD}"), "--only", "nobody", password="word")
        assert result.returncode == 2
