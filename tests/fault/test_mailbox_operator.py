"""What an operator asks in trouble, of real daemons: MAILBOX ALLOW, RENEW, LEAVE, and `pyrepl mailbox compare`."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pyrepl.mailbox.client import MailboxClient, Message
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.peers.lab import Lab, Node, pyrepl_command, wait_until
from tests.peers.wire import ErrorReply


def filled(lab: Lab, **directives: str) -> tuple[MailboxCluster, MailboxClient]:
    """Two nodes, and six messages in INBOX on both."""
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b", **directives)
    mail = cluster.client("a")
    mail.create(USER, "INBOX")
    mail.append_all(USER, "INBOX", [Message(b"mail %d" % number) for number in range(6)])
    mail.store(USER, "INBOX", [2, 4], add=["\\Seen"])
    mail.check()
    assert len(cluster.wait_equal()) == 6
    return cluster, mail


def said(node: Node, *words: str) -> Any:
    return node.call("MAILBOX", *words)


def boxes(node: Node) -> dict[bytes, dict[bytes, Any]]:
    found = (dict(zip(each[::2], each[1::2], strict=True)) for each in said(node, "INFO", USER))
    return {box[b"name"]: box for box in found}


def compared(cluster: MailboxCluster, *options: str) -> subprocess.CompletedProcess[str]:
    addresses = [f"127.0.0.1:{cluster.nodes[name].port}" for name in "ab"]
    words = [*pyrepl_command(), "mailbox", "compare", *addresses, *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def test_messages_that_are_missing_are_expunged_when_the_operator_says_so(lab: Lab) -> None:
    gates = {"mailbox-gate": "on", "mailbox-expunge-guard": "2"}
    cluster, _ = filled(lab, **gates)
    cluster.nodes["a"].terminate()
    for path in sorted((cluster.folder("a") / "mail" / USER / "cur").iterdir())[:5]:
        path.unlink()
    cluster.start("a", **gates)
    cluster.nodes["a"].wait_log("expunge_guard alice INBOX 5")
    assert len(cluster.view("b")) == 6
    assert said(cluster.nodes["a"], "ALLOW", USER, "INBOX") == "OK"
    assert len(cluster.wait_equal()) == 1


@pytest.mark.parametrize("gate", ["off", "on"])
def test_flags_that_very_many_messages_lost_are_put_back_or_lost_as_the_operator_says(lab: Lab, gate: str) -> None:
    count, gates = 110, {"mailbox-gate": gate}
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b", **gates)
    mail = cluster.client("a")
    mail.create(USER, "INBOX")
    mail.append_all(USER, "INBOX", [Message(b"mail %d" % number, ("\\Seen",)) for number in range(count)])
    mail.check()
    cluster.wait_equal()
    folder = cluster.folder("b") / "mail" / USER

    def seen(name: str) -> int:
        return sum("S" in letters for letters, _ in cluster.view(name).values())

    def lose_letters() -> Node:
        cluster.nodes["b"].terminate()
        for path in (folder / "cur").iterdir():
            path.rename(path.with_name(path.name.removesuffix("S")))
        cluster.start("b", **gates)
        cluster.nodes["b"].wait_log(f"flags_differ alice INBOX {count}: so many messages have other flags")
        cluster.client("b").check()
        if gate == "on":
            wait_until("the gate is shut", lambda: (folder / "dovecot-uidlist.lock").exists())
        mail.store(USER, "INBOX", [1], add=["\\Flagged"])
        mail.store(USER, "INBOX", [1], remove=["\\Flagged"])
        mail.check()
        assert seen("a") == count and seen("b") == 0
        return cluster.nodes["b"]

    b = lose_letters()
    assert said(b, "DENY", USER, "INBOX") == "OK"
    assert len(cluster.wait_equal()) == count and seen("b") == count
    with pytest.raises(ErrorReply, match="no flags are in doubt there"):
        said(b, "DENY", USER, "INBOX")
    assert said(lose_letters(), "ALLOW", USER, "INBOX") == "OK"
    assert len(cluster.wait_equal()) == count and seen("a") == 0


def test_a_mailbox_gets_a_new_uidvalidity(lab: Lab) -> None:
    cluster, mail = filled(lab)
    mail.create(USER, "Work")
    mail.expunge(USER, "INBOX", [1])
    mail.check()
    before = boxes(cluster.nodes["b"])[b"INBOX"]
    assert said(cluster.nodes["b"], "RENEW", USER, "INBOX") == "OK"
    mail.check()
    shown = cluster.wait_equal()
    assert {uid: letters for uid, (letters, _) in shown.items()} == {1: "S", 2: "", 3: "S", 4: "", 5: ""}
    assert [text for _, (_, text) in sorted(shown.items())] == [b"mail %d" % number for number in range(1, 6)]
    for node in cluster.nodes.values():
        after = boxes(node)
        assert set(after) == {b"INBOX", b"Work"} and after[b"INBOX"][b"uidvalidity"] > before[b"uidvalidity"]
    heads = {head(cluster.folder(name) / "mail" / USER) for name in "ab"}
    assert len(heads) == 1 and f"V{boxes(cluster.nodes['a'])[b'INBOX'][b'uidvalidity']} " in heads.pop()


@pytest.mark.parametrize("node", ["a", "b"])
def test_so_does_one_behind_gates_be_it_empty(lab: Lab, node: str) -> None:
    """Nobody lists folders while two mailboxes have its name, and takes the empty one for a Dovecot's."""
    cluster, mail = filled(lab, **{"mailbox-gate": "on"})
    mail.create(USER, "Empty")
    mail.check()
    before = {name: box[b"uidvalidity"] for name, box in boxes(cluster.nodes["b"]).items()}
    for box in ("Empty", "INBOX", "Empty", "INBOX"):
        assert said(cluster.nodes[node], "RENEW", USER, box) == "OK"
        mail.check()
        time.sleep(0.3)
    shown = cluster.wait_equal()
    assert [text for _, (_, text) in sorted(shown.items())] == [b"mail %d" % number for number in range(6)]
    for each in cluster.nodes.values():
        after = {name: box[b"uidvalidity"] for name, box in boxes(each).items()}
        assert after.keys() == before.keys() and all(after[name] > before[name] for name in before)


def head(folder: Path) -> str:
    return (folder / "dovecot-uidlist").read_text().splitlines()[0]


def test_a_node_leaves_and_its_maildirs_stay(lab: Lab) -> None:
    cluster, _ = filled(lab, **{"mailbox-gate": "on"})
    lock = cluster.folder("a") / "mail" / USER / "dovecot-uidlist.lock"
    wait_until("the gate is shut", lambda: (cluster.folder("b") / "mail" / USER / lock.name).exists())
    before = cluster.view("b")
    cluster.nodes["a"].kill()
    with pytest.raises(ErrorReply, match="alice has no mailbox Nothing"):
        said(cluster.nodes["b"], "RENEW", USER, "Nothing")
    cluster.client("b").append(USER, "INBOX", b"apart")
    with pytest.raises(ErrorReply, match=r"of the changes that were made here 1 are not at a yet.*LEAVE FORCE"):
        said(cluster.nodes["b"], "LEAVE")
    assert said(cluster.nodes["b"], "LEAVE", "FORCE") == "OK"
    cluster.nodes["b"].wait_log("b has left, and its Maildirs are ordinary ones")
    wait_until("gates are gone", lambda: not (cluster.folder("b") / "mail" / USER / lock.name).exists())
    with pytest.raises(ErrorReply, match="this node has left"):
        said(cluster.nodes["b"], "STATUS")
    assert cluster.view("b").items() > before.items()
    assert cluster.nodes["b"].call("PING") == "PONG"
    cluster.nodes["b"].terminate()


def test_l1_a_mailbox_whose_rows_were_damaged_is_compared_when_the_operator_says_so(lab: Lab) -> None:
    cluster, _ = filled(lab)
    before = cluster.wait_equal()
    cluster.nodes["b"].terminate()
    with closing(sqlite3.connect(cluster.folder("b") / "mailbox.db")) as database, database:
        assert database.execute("UPDATE messages SET flags = '\"\"' WHERE uid IN (2, 4)").rowcount == 2
    for path in (cluster.folder("b") / "mail" / USER / "cur").glob("*:2,S"):
        path.rename(path.with_name(path.name.removesuffix("S")))
    cluster.start("b")
    assert cluster.view("b") != before
    b = cluster.nodes["b"]
    found = said(b, "RESYNC", USER, "INBOX")
    assert found == [b"member", b"a", b"mailboxes", 1, b"messages", 2, b"texts", 0]
    b.wait_log("resync_done alice INBOX by a: 1 mailboxes, 2 messages were not the same, 0 texts are new")
    assert cluster.wait_equal() == before
    assert said(b, "RESYNC", USER)[3::2] == [1, 0, 0]
    cluster.nodes["a"].terminate()
    with pytest.raises(ErrorReply, match="no other member that keeps mail can be reached"):
        wait_until("the link is down", lambda: said(b, "RESYNC", USER) is None)
    with pytest.raises(ErrorReply, match="expected"):
        said(b, "RESYNC", USER, "a//b")


def test_what_differs_between_two_nodes(lab: Lab) -> None:
    cluster, mail = filled(lab)
    result = compared(cluster)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    cluster.nodes["b"].terminate()
    mail.expunge(USER, "INBOX", [1])
    mail.store(USER, "INBOX", [3], add=["work"])
    mail.append(USER, "INBOX", b"new")
    mail.create("bob", "INBOX")
    cluster.nodes["a"].terminate()
    for name in "ab":
        cluster.start_alone(name)
        cluster.client(name)
    result = compared(cluster)
    assert result.returncode == 1, result.stderr
    lines = result.stdout.splitlines()
    a, b = (f"127.0.0.1:{cluster.nodes[name].port}" for name in "ab")
    assert [line.replace(a, "A").replace(b, "B").rpartition(": ")[2] for line in lines] == [
        "uidnext 8 at A, 7 at B",
        "only at B",
        "work at A, no flags at B",
        "only at A",
        "only at A",
    ]
    assert compared(cluster, "--only", "bob").stdout.splitlines() == [f"bob INBOX: only at {a}"]
    cluster.nodes["b"].terminate()
    result = compared(cluster)
    assert result.returncode == 2 and "cannot be compared" in result.stderr
