"""Two real nodes, and a third member that knows the secret and means harm: what it says is refused or has no effect,
the memory of the nodes stays bounded, no file is made where none belongs, nothing that was stored is lost, and users
are served on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psutil
import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.client import MailboxError
from pyrepl.mailbox.codec import encode
from pyrepl.mailbox.members import Member, Members, agreed
from pyrepl.mailbox.modseqs import MOST_MODSEQ
from pyrepl.mailbox.verbs import (
    Ack,
    Auth,
    Command,
    Copy,
    Create,
    Delete,
    Expunge,
    FlagsOf,
    Give,
    Hello,
    Modseqs,
    Op,
    Quit,
    Renumber,
    RootClaim,
    RootClear,
    RootPing,
    RootSet,
    Save,
    Store,
    Subscribe,
    Take,
)
from pyrepl.mailbox.words import LAST_UID, Box, Dot, Register, Stamp, Token
from tests.fault.hostile_member import HostileMember, Who
from tests.fault.mailbox_cluster import SECRET, USER, MailboxCluster
from tests.peers.lab import Lab, Node, wait_until
from tests.simulation.mailbox.hostile import Hostile

MOST_GROWTH = 48 << 20
"""Bytes that a node's memory may grow by, whatever comes."""
FLOOD = 64 << 20
MOST_UNREAD = 1 << 18
"""`mailbox-output-buffer-limit`, bytes: a node that answers millions of lines takes its time."""
MEMBERS = Members((Member("a"), Member("b"), Member("c")), agreed(100_000, 2000))
WHO = Who("c", MEMBERS, SECRET)
NO_BOX = Box("f" * 32, True)
DATABASES = count(1)
"""Each hostile op stands behind no other one: it is of a database of its own."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailboxCluster]:
    """One cluster for all that should leave no trace; c never runs."""
    with Lab(tmp_path_factory.mktemp("hostile")) as lab:
        yield begun(lab)
        for node in lab.nodes:
            print(f"--- {node.name}\n{node.tail()}")


def begun(lab: Lab) -> MailboxCluster:
    cluster = MailboxCluster(lab)
    cluster.start("a", "b", **{"mailbox-output-buffer-limit": str(MOST_UNREAD)})
    cluster.names = "ab"
    mail = cluster.client("a")
    mail.create(USER, "INBOX")
    wait_until("b keeps copies", lambda: mail.append(USER, "INBOX", b"stored").acks == 1)
    return cluster


@contextmanager
def unharmed(cluster: MailboxCluster, *, user: str = USER) -> Iterator[HostileMember]:
    """The member c at a. Behind it everybody is as before, and is served on."""
    a, b = (psutil.Process(cluster.nodes[name].process.pid) for name in "ab")
    was_stored, files = cluster.wait_equal(), outside(cluster)
    logs = {name: len(cluster.nodes[name].log()) for name in "ab"}
    before = [process.memory_info().rss for process in (a, b)]
    with HostileMember(cluster.ports["a"], WHO) as member:
        yield member
    grown = [process.memory_info().rss - was for process, was in zip((a, b), before)]
    for name in "ab":
        is_served(cluster, name)
    now = cluster.wait_equal()
    texts = [text for _, text in now.values()]
    for uid, (letters, text) in was_stored.items():
        assert text in texts and now.get(uid, (letters, text)) == (letters, text)
    assert max(grown) < MOST_GROWTH, grown
    assert outside(cluster) == files
    for name in "ab":
        said = cluster.nodes[name].log()[logs[name] :]
        assert "Traceback" not in said and "begins again" not in said, said


def is_served(cluster: MailboxCluster, name: str) -> None:
    """A node takes mail, and the other one has it as well."""
    with cluster.client(name) as mail:
        wait_until(f"{name} is served", lambda: mail.append(USER, "INBOX", b"behind").acks == 1)


def outside(cluster: MailboxCluster) -> set[Path]:
    """All files and folders of both nodes but the Maildirs of users, and what is written beside the database."""
    found: set[Path] = set()
    for name in "ab":
        top = cluster.folder(name)
        mail = top / "mail"
        found |= {path for path in top.iterdir() if not path.name.startswith("mailbox.db")}
        found |= {path for path in mail.iterdir() if path.name.startswith(".")}
        found |= set(cluster.lab.folder.iterdir())
    return found


def box_of(node: Node, user: str = USER, name: str = "INBOX") -> Box:
    """A mailbox by its GUID."""
    return Box(shown(node, user, name)["guid"], True)


def shown(node: Node, user: str, name: str) -> dict[str, str]:
    """MAILBOX INFO of one mailbox."""
    [words] = node.call("MAILBOX", "INFO", user, name)
    texts = [word.decode() if isinstance(word, bytes) else str(word) for word in words]
    return dict(zip(texts[::2], texts[1::2]))


def told(cluster: MailboxCluster, why: str) -> None:
    cluster.nodes["a"].wait_log(f"is over: {why}")


# What is no line.


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (random.Random(1).randbytes(1 << 16), "expected "),
        (bytes(1000) + b"\n", "expected a line without control characters"),
        (b"x" * (1 << 17), "expected lines of at most 65536 bytes"),
        (b"* PING\n" * 1000 + b"* NOTHING\n", "unknown command 'NOTHING'"),
        (b"* HELLO node=b nonce=" + b"x" * 32 + b"\n", "HELLO"),
        (b"* AUTH mac=x\n", "AUTH"),
        (b"* LOCK alice INBOX\n", "LOCK is no command of a node"),
        (b"1 CHECK {9}\n", "CHECK has no text"),
        (b"1 SAVE alice INBOX guid=G1 size=9 received=1 {10}\n", "expected a text of size=9, got one of 10"),
        (b"1 SAVE alice INBOX guid=G1 size=9007199254740993 received=1\n", "SAVE size: expected a number from 0"),
        (b"* NO WHY\n", "NO reason: expected one of"),
    ],
)
def test_what_is_no_line_ends_the_connection(whole: MailboxCluster, data: bytes, why: str) -> None:
    with unharmed(whole) as member:
        member.send(data)
        assert why in member.end()


@pytest.mark.parametrize("user", ["../..", "a/b", "/etc/passwd", "%2e%2e", ".", "%00", "a%0ab", "%2e%2e%2fetc", '""'])
def test_a_user_that_is_a_path(whole: MailboxCluster, user: str) -> None:
    with unharmed(whole) as member:
        member.send(f"1 CREATE {user} INBOX id={'1' * 32} uidvalidity=1 stamp=1.c at=c~1:1\n".encode())
        assert "CREATE user: expected the name of a user" in member.end()


@pytest.mark.parametrize(
    "name", ["../..", "a/../b", "/etc/passwd", "%2e%2e", "a%2f..", "a%2f%2e%2e%2fb", "~root", "%00", "a//b", "x" * 2000]
)
def test_a_mailbox_that_is_a_path(whole: MailboxCluster, name: str) -> None:
    with unharmed(whole) as member:
        member.send(f"1 CREATE alice {name} id={'1' * 32} uidvalidity=1 stamp=1.c at=c~1:1\n".encode())
        assert "CREATE box: expected a mailbox's name" in member.end()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("guid=../../x", "SAVE guid: expected the GUID of a message"),
        ("guid=%2e%2e%2fx", "SAVE guid: expected the GUID of a message"),
        ("guid=%00", "SAVE guid: expected the GUID of a message"),
        (f"guid={'x' * 129}", "SAVE guid: expected the GUID of a message"),
        ("guid=G flags=\\Recent", "SAVE flags: expected one of"),
        ("guid=G flags=a%00b", "SAVE flags: expected a keyword"),
        ("guid=G flags=*", "SAVE flags: expected a keyword"),
        ("guid=G uid=0", "SAVE uid: expected a UID from 1"),
        ("guid=G uid=4294967295", "SAVE uid: expected a UID from 1"),
        ("guid=G uid=4294967296", "SAVE uid: expected a UID from 1"),
        ("guid=G modseq=9223372036854775808", "SAVE modseq: expected a modseq"),
        ("guid=G token=9223372036854775808.1", "SAVE token: expected an epoch"),
        ("guid=G at=../x:1", "SAVE at: expected the name of a node"),
        ("guid=G at=c:9223372036854775808", "SAVE at: expected the number of an op"),
        ("guid=G at=c~1:1 after=c~2:1,c~2:2", "SAVE after: expected a vector"),
        ("guid=G guid=H", "SAVE has the word 'guid' twice"),
    ],
)
def test_words_that_are_none(whole: MailboxCluster, words: str, why: str) -> None:
    with unharmed(whole) as member:
        member.send(f"1 SAVE alice #{'1' * 32} size=1 received=1 {words}\n".encode())
        assert why in member.end()
    told(whole, why)


# What is well-formed, and no member in its right mind says.

FAR = 2**53
UNWANTED = (Hello, Auth, Quit, Bad, Create, RootSet, RootPing)
"""What ends the connection; CREATE, which could make an INBOX of alice that is the older one; and what makes c the root
of an epoch, which it may be."""
SAVE = Save(user=USER, box=NO_BOX, guid="H", size=1, received=1, modseq=9)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (RootSet(epoch=FAR, node="c", root="c"), "ROOT-SET: epoch"),
        (RootPing(epoch=FAR, node="c", root="c"), "ROOT-PING: epoch"),
        (RootClaim(epoch=FAR, node="c"), "ROOT-CLAIM: epoch"),
        (No(reason=Reason.EPOCH, epoch=FAR), "NO: epoch"),
        (Give(user=USER, box=NO_BOX, token=Token(FAR, 1), uid=1, modseq=1, held=()), "GIVE: epoch"),
        (SAVE.replaced(at=Dot("c~1", 1), token=Token(FAR, 1)), "SAVE: epoch"),
        (SAVE.replaced(at=Dot("c~1", 1), modseq=2**63 - 1), "SAVE: modseq"),
        (SAVE.replaced(at=Dot("c~1", 2**63 - 1)), "SAVE: an op with the number"),
        (SAVE.replaced(at=Dot("c~1", 1), after=(Dot("b", 2**63 - 1),)), "SAVE: an op with the number"),
        (Ack(held=(Dot("b", 2**63 - 1),)), "ACK: an op with the number"),
        (Ok(at=Dot("a", 2**63 - 1)), "OK: an op with the number"),
        (
            Subscribe(user=USER, box=NO_BOX, modseq=1, at=Dot("c~1", 1), stamp=Stamp(2**63 - 1, "c")),
            "SUBSCRIBE: modseq",
        ),
        (Create(user=USER, box=Box("x"), modseq=1, at=Dot("c~1", 1), stamp=Stamp(1, "c")), "CREATE: expected the id"),
        (
            Expunge(user=USER, box=NO_BOX, modseq=1, at=Dot("c~1", 1), guids=("G",) * 1001),
            "EXPUNGE: expected 1000 messages",
        ),
        (
            Renumber(user=USER, box=NO_BOX, modseq=1, at=Dot("c~1", 1), to=((1, 9),), guids=("G",)),
            "RENUMBER: expected a UID",
        ),
    ],
)
def test_a_number_that_leaves_no_room_is_refused(whole: MailboxCluster, command: Command, why: str) -> None:
    with unharmed(whole) as member:
        member.say(command, tag="7")
        assert why in member.end()
    told(whole, why)


def of_masterships(epoch: int, box: Box) -> list[Command]:
    """What has no right to be: of epochs that have passed, and of a root that nobody elected."""
    give = Give(user=USER, box=box, token=Token(epoch - 1, 99), uid=9, modseq=9, held=())
    take = Take(user=USER, box=box, wanted_by="c", hops=1, token=Token(epoch - 1, 0))
    return [
        *(RootSet(epoch=old, node="c", root="c") for old in range(epoch + 1)),
        *(RootPing(epoch=old, node="c", root="c") for old in range(epoch + 1)),
        *(RootClaim(epoch=old, node="c") for old in range(epoch + 1)),
        *(RootClear(epoch=old, node=name, held=(Dot("b", 2**40),)) for old in range(epoch + 1) for name in "abc"),
        RootSet(epoch=epoch + 1, node="b", root="b"),
        give,
        give.replaced(user="mallory", token=Token(epoch, 99)),
        give.replaced(box=NO_BOX, token=Token(epoch, 99)),
        take,
        take.replaced(wanted_by="nobody", token=Token(epoch - 1, 2**62)),
        take.replaced(box=NO_BOX, token=Token(epoch, 0)),
    ]


def of_others(box: Box) -> list[Op]:
    """Ops on what is another user's, or is not there."""
    guids = ("G", "%2e", "\N{BELL}")
    return [
        Expunge(user="mallory", box=box, guids=guids),
        Store(user="mallory", box=box, guids=guids, add=("\\Deleted",)),
        Delete(user="mallory", box=box, known=(Dot("a", 2**40), Dot("b", 2**40)), stamp=Stamp(99, "c")),
        Create(user="mallory", box=Box("INBOX"), id=box.text, stamp=Stamp(99, "c")),
        Copy(user=USER, box=NO_BOX, to=NO_BOX, guids=guids, touids=((1, 3),)),
        Expunge(user=USER, box=NO_BOX, guids=guids),
        SAVE,
        Modseqs(user=USER, box=NO_BOX, guids=guids, modseq=2**40),
    ]


def test_what_has_no_right_to_be_changes_nothing(whole: MailboxCluster) -> None:
    a = whole.nodes["a"]
    is_served(whole, "b")
    wait_until("a knows who has the mailbox", lambda: shown(a, USER, "INBOX")["master"] == "b")
    before = shown(a, USER, "INBOX"), a.info("mailboxes")["mailbox_root"]
    with unharmed(whole) as member:
        epoch = int(a.info("mailboxes")["mailbox_epoch"])
        for number, command in enumerate(of_masterships(epoch, box_of(a))):
            member.say(command, tag=f"r{number}")
        for op in of_others(box_of(a)):
            member.say(member.make(op.replaced(modseq=1), f"c~{next(DATABASES)}"))
        flags = (Register("\\Deleted", True, Stamp(2**40, "c")),)
        member.say(FlagsOf(user="mallory", box=box_of(a), guid="G", stamps=flags, modseq=9))
        assert member.is_heard()
        assert (shown(a, USER, "INBOX"), a.info("mailboxes")["mailbox_root"]) == before


def test_answers_that_nobody_waits_for(whole: MailboxCluster) -> None:
    with unharmed(whole) as member:
        for letter in "rgspfmtcox":
            for number in range(200):
                answers = Ok(held=(Dot("c", 9),), upto="x"), No(reason=Reason.NOUID), Ok(epoch=1, left=10**9)
                member.say(*answers, tag=f"{letter}{number}")
                member.send(f"{letter}{number} OK size=3 {{3}}\nabc".encode())
        assert member.is_heard()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_a_member_says(whole: MailboxCluster, seed: int) -> None:
    """Well-formed, with any values, of mailboxes that are not there."""
    hostile, heard = Hostile(random.Random(seed), NO_BOX.text), 0
    with unharmed(whole):
        for _ in range(80):
            with HostileMember(whole.ports["a"], WHO) as member:
                for command in (hostile.command() for _ in range(10)):
                    if not isinstance(command, UNWANTED):
                        member.say(command, tag=hostile.tag())
                heard += member.is_heard()
    assert heard


# Two of one name.


def test_a_second_connection_takes_the_place_of_the_first(whole: MailboxCluster) -> None:
    with unharmed(whole) as first, HostileMember(whole.ports["a"], WHO) as second:
        assert second.is_heard()
        assert first.end() == ""
        assert second.is_heard()
    told(whole, "it was replaced by a newer one")


@pytest.mark.parametrize(
    ("who", "why"),
    [
        (WHO._replace(name="a"), "two nodes are called a"),
        (WHO._replace(name="d"), "d is no member"),
        (WHO._replace(name="c~2"), "c~2 is no member"),
        (WHO._replace(members=Members((Member("a"), Member("c")))), "c has another list of members"),
        (WHO._replace(secret="f" * 16), "the other end does not know our mailbox-secret"),
    ],
)
def test_a_name_that_is_not_its_own(whole: MailboxCluster, who: Who, why: str) -> None:
    with unharmed(whole), pytest.raises(PeerError, match=why):
        HostileMember(whole.ports["a"], who)


# What would fill a node.


def flood(member: HostileMember, more: bytes, most: int = FLOOD) -> int:
    """Send `more` again and again, and read nothing, until the node ends the connection; the bytes sent."""
    sent = 0
    while sent < most and member.send(more):
        sent += len(more)
    return sent


@pytest.mark.parametrize(
    "line",
    [
        "s123456789012345 SYNC",
        "r123456789012345 ROOT-PING epoch=0",
        *(
            pytest.param(line, marks=pytest.mark.matrix)
            for line in ("1234567890123456 PING", "p123456789012345 BOXES", "f123456789012345 FETCH alice guid=G")
        ),
    ],
)
def test_a_flood_of_questions_whose_answers_are_not_read(whole: MailboxCluster, line: str) -> None:
    with unharmed(whole) as member:
        assert flood(member, f"{line}\n".encode() * 10_000) < FLOOD
    whole.nodes["a"].wait_log("bytes wait: the other end does not read")


def test_ops_that_wait_for_what_never_comes_take_no_memory(whole: MailboxCluster) -> None:
    with unharmed(whole) as member:
        guids = tuple(f"{number:060}" for number in range(1000))
        origin = f"c~{next(DATABASES)}"
        for seq in range(2, 1000):
            member.say(Expunge(user=USER, box=NO_BOX, guids=guids, modseq=1, at=Dot(origin, seq)))
        assert member.is_heard()


def test_small_ops_without_end_that_wait_for_what_never_comes(whole: MailboxCluster) -> None:
    with unharmed(whole) as member:
        origin = f"c~{next(DATABASES)}"
        line = encode(Modseqs(user=USER, box=NO_BOX, modseq=1, at=Dot(origin, 10**9)))
        for seq in range(2, 30_000, 1000):
            member.send(b"".join(line.replace(b"1000000000", b"%d" % (seq + more)) for more in range(1000)))
        assert member.is_heard()


def test_texts_that_are_never_whole(whole: MailboxCluster) -> None:
    """Each connection takes the place of the one before it, and what it began is removed."""
    drop = whole.folder("a") / "mail" / ".pyrepl-drop"
    with unharmed(whole):
        for number in range(10):
            with HostileMember(whole.ports["a"], WHO) as member:
                save = SAVE.replaced(guid=f"H{number}", size=9 * 10**9, at=Dot(f"c~{next(DATABASES)}", 1))
                member.send(encode(save, text_size=save.size) + bytes(4 << 20))
        wait_until("nothing is left of them", lambda: not any(drop.glob("*.H*")))


def test_a_text_that_nobody_gives_holds_nobody_else_up(whole: MailboxCluster) -> None:
    with unharmed(whole) as member:
        box = box_of(whole.nodes["a"])
        op = SAVE.replaced(box=box, guid="never", at=Dot(f"c~{next(DATABASES)}", 1))
        member.say(op)
        assert member.is_heard()
        assert whole.client("b").append(USER, "INBOX", b"while one is missing").acks == 1


# What is believed, as a member has to be believed: it leaves traces, so each has nodes of its own.


def test_origins_without_end(lab: Lab) -> None:
    """A vector with all of them would be no line any more, and no node could tell another what it has."""
    with unharmed(begun(lab)) as member:
        for number in range(1000):
            member.say(Modseqs(user=USER, box=NO_BOX, modseq=1, at=Dot(f"{'x' * 25}{number}", 1)))
        assert "databases at most of nodes that are no members, got xxx" in member.end()


def test_the_last_uid_leaves_what_is_stored_and_a_new_uidvalidity_helps(lab: Lab) -> None:
    cluster = begun(lab)
    a, stored = cluster.nodes["a"], cluster.wait_equal()
    with HostileMember(cluster.ports["a"], WHO) as member:
        box, token = box_of(a), Token(int(a.info("mailboxes")["mailbox_epoch"]), 0)
        save = SAVE.replaced(box=box, uid=LAST_UID, token=token, at=Dot("c~1", 1), size=4)
        member.send(encode(save, text_size=4) + b"evil")
        assert member.is_heard()
    with cluster.client("a") as mail, pytest.raises(MailboxError, match="no UID is left"):
        mail.append(USER, "INBOX", b"nowhere")
    a.wait_log(f"uids_run_out {USER} INBOX")
    assert a.call("MAILBOX", "RENEW", USER, "INBOX") == "OK"
    for name in "ab":
        is_served(cluster, name)
    texts = [text for _, text in cluster.wait_equal().values()]
    assert {text for _, text in stored.values()} <= set(texts)


def test_the_greatest_numbers_that_are_taken_stop_nobody(lab: Lab) -> None:
    cluster = begun(lab)
    with cluster.client("a") as mail, unharmed(cluster) as member:
        box = box_of(cluster.nodes["a"])
        ops = (
            Modseqs(user=USER, box=box, modseq=MOST_MODSEQ),
            Subscribe(user=USER, box=box, modseq=1, stamp=Stamp(MOST_MODSEQ, "c")),
            Create(user=USER, box=Box("Last"), modseq=1, id="1" * 32, uidvalidity=2**32 - 1, stamp=Stamp(1, "c")),
        )
        member.say(*(member.make(op, "c~1") for op in ops))
        assert member.is_heard()
        wait_until("a is served", lambda: mail.append(USER, "INBOX", b"there").acks == 1)
        mail.create(USER, "Another")
        mail.store(USER, "INBOX", [max(cluster.view("a"))], add=["\\Seen"])
    wait_until("b has it", lambda: (cluster.folder("b") / "mail" / USER / ".Another").exists())


def test_a_mastership_that_is_kept_for_ever(lab: Lab) -> None:
    cluster = begun(lab)
    a = cluster.nodes["a"]
    with unharmed(cluster) as member:
        epoch = int(a.info("mailboxes")["mailbox_epoch"])
        member.say(Take(user=USER, box=box_of(a), wanted_by="c", hops=1, token=Token(epoch, 0)))
        assert member.is_heard()
