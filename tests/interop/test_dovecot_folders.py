"""Folders that IMAP clients make, rename, delete and subscribe on one node are so on the other."""

from __future__ import annotations

import re
import shutil

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.interop.test_dovecot_apart import part
from tests.peers.lab import Lab, wait_until

TEXT = b"Subject: one\r\n\r\nline\r\n"


def listed(pair: DovecotPair, node: str, command: str = "LIST") -> set[str]:
    """The names of folders, or those that are subscribed, as a new session is told them: one that is open has Dovecot's
    list of before."""
    with pair.dovecots[node].imap(USER) as session:
        answers = session.list()[1] if command == "LIST" else session.lsub()[1]
    found = (re.fullmatch(rb'\(.*?\) "." "?(.*?)"?', answer) for answer in answers if isinstance(answer, bytes))
    return {match[1].decode() for match in found if match}


def wait_listed(pair: DovecotPair, node: str, names: set[str], command: str = "LIST") -> None:
    wait_until(
        f"{command} of {sorted(names)} on {node}",
        lambda: listed(pair, node, command) == names,
        timeout_s=20,
        every_s=0.1,
    )


def guid_of(pair: DovecotPair, node: str, folder: str) -> str:
    """Of the mailbox in a folder; "" while there is none."""
    path = pair.dovecots[node].mail(USER) / folder / "dovecot-uidlist"
    return path.read_text().split()[3] if path.exists() else ""


def log(pair: DovecotPair, name: str) -> str:
    return pair.cluster.nodes[name].log()


def test_folders_are_made_renamed_and_deleted_on_either_side(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        one.create("Work")
        one.create("Work.Sub")
        first = append(one, TEXT, "(\\Seen kw)", "Work")
        wait_listed(pair, "b", {"INBOX", "Work", "Work.Sub"})
        wait_until("b has the mail", lambda: list(shown(pair.imap("b", "Work"))) == [first])
        assert append(two, TEXT, "", "Work") == first + 1
        two.rename("Work", "Play")
        wait_listed(pair, "a", {"INBOX", "Play", "Play.Sub"})
        wait_until("a has both", lambda: list(shown(pair.imap("a", "Play"))) == [first, first + 1])
        assert append(one, TEXT, "", "Play") == first + 2
        pair.wait_equal(pair.imap("a", "Play"), pair.imap("b", "Play"))
        one.delete("Play.Sub")
        one.delete("Play")
        wait_listed(pair, "b", {"INBOX"})
        one.create("Play")
        assert append(one, TEXT, "", "Play") == 1, "another one of that name"
        wait_listed(pair, "b", {"INBOX", "Play"})
        pair.wait_equal(pair.imap("a", "Play"), pair.imap("b", "Play"))


def test_subscriptions_of_either_side(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        one.create("Work")
        one.subscribe("Work")
        two.subscribe("INBOX")
        for node in "ab":
            wait_listed(pair, node, {"INBOX", "Work"}, "LSUB")
        two.unsubscribe("Work")
        wait_listed(pair, "a", {"INBOX"}, "LSUB")


def test_what_clients_did_while_a_node_was_down_is_done_everywhere(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one = pair.imap("a")
        for name in ("Old", "Gone", "Stay"):
            one.create(name)
        wait_listed(pair, "b", {"INBOX", "Old", "Gone", "Stay"})
        pair.cluster.nodes["a"].terminate()
        one.rename("Old", "New")
        one.delete("Gone")
        one.create("Made")
        one.subscribe("Made")
        uid = append(one, TEXT, "", "Made")
        pair.start("a")
        wait_listed(pair, "b", {"INBOX", "New", "Stay", "Made"})
        wait_listed(pair, "b", {"Made"}, "LSUB")
        wait_until("b has the mail", lambda: list(shown(pair.imap("b", "Made"))) == [uid])


def test_a_folder_that_both_make_while_they_are_apart_is_one(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        part(pair)
        for node in "ab":
            pair.imap(node).create("Sent")
        uid = append(pair.imap("a"), TEXT, "", "Sent")
        pair.proxy.heal()
        for node in "ab":
            wait_listed(pair, node, {"INBOX", "Sent"})
        wait_until("it is the same", lambda: len({guid_of(pair, node, ".Sent") for node in "ab"}) == 1)
        assert list(pair.wait_equal(pair.imap("a", "Sent"), pair.imap("b", "Sent"))) == [uid]


def test_a_maildir_that_is_missing_deletes_nothing_elsewhere(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        one.create("Work")
        uid = append(one, TEXT, "", "Work")
        wait_listed(pair, "b", {"INBOX", "Work"})
        wait_until("b has the mail", lambda: list(shown(pair.imap("b", "Work"))) == [uid])
        one.shutdown()
        pair.dovecots["a"].stop()
        home = pair.dovecots["a"].mail(USER)
        shutil.move(home, home.with_name("unmounted"))
        wait_until("it is told", lambda: "is missing: is its disk mounted?" in log(pair, "a"))
        pair.dovecots["a"].start()
        assert shown(pair.imap("a")) == {}, "Dovecot has made an empty Maildir"
        wait_until("that is told too", lambda: "folders_guard" in log(pair, "a"))
        assert listed(pair, "b") == {"INBOX", "Work"} and list(shown(pair.imap("b", "Work"))) == [uid]
        pair.dovecots["a"].stop()
        shutil.rmtree(home)
        shutil.move(home.with_name("unmounted"), home)
        pair.dovecots["a"].start()
        assert append(two, TEXT, "", "Work") == uid + 1
        pair.wait_equal(pair.imap("a", "Work"), pair.imap("b", "Work"))
