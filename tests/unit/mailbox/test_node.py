"""A node as a whole: sides that were apart come together. Requirements P1, P3, L1, M4, M5."""

from __future__ import annotations

from pyrepl.mailbox.flags import from_set
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.rows import UNPLACED, MessageRow
from pyrepl.mailbox.verbs import FlagsOf
from pyrepl.mailbox.words import MOST_GUID_BYTES, Dot, Register, Stamp, Token
from tests.scenario.mailbox.cluster import ready, save


def test_l1_sides_that_were_apart_keep_every_message_and_one_sides_uids() -> None:
    cluster = ready()
    cluster.say("m2>b 1 SAVE alice INBOX " + save("G0"))
    cluster.cut("a", "b")
    cluster.run(8.0)
    for guid in ("G1", "G2"):
        cluster.say("m1>a 2 SAVE alice INBOX " + save(guid))
    cluster.say("m2>b 2 SAVE alice INBOX " + save("G3"))
    assert cluster.views() == [
        {"INBOX/G0": (1, ()), "INBOX/G1": (100_002, ()), "INBOX/G2": (100_003, ())},
        {"INBOX/G0": (1, ()), "INBOX/G3": (2, ())},
    ]
    cluster.link("a", "b")
    cluster.run(12.0)
    one, other = cluster.views()
    assert one == other and one["INBOX/G1"] == (100_002, ()) and one["INBOX/G3"] == (300_004, ())


def test_refuse_gives_out_nothing_apart() -> None:
    cluster = ready(accept=False)
    cluster.cut("a", "b")
    cluster.run(8.0)
    cluster.say("m1>a 1 LOCK alice INBOX wait=500")
    cluster.run(0.6)
    assert "a>m1 1 NO APART" in cluster.said()


def test_m4_in_the_end_everybody_has_the_highest_modseq() -> None:
    cluster = ready("abc")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.held |= {f"{x}>{y}" for x in "abc" for y in "abc"}
    for number, node in enumerate("abc"):
        cluster.say(f"m{number}>{node} 2 STORE alice INBOX uids=1 add=flag-{node}")
    cluster.held.clear()
    cluster.settle()
    rows = [next(cluster.rows[name].messages(next(iter(cluster.names)))) for name in "abc"]
    assert rows[0] == rows[1] == rows[2] and rows[0].set_flags() == ("flag-a", "flag-b", "flag-c")


def test_a_witness_has_no_mail() -> None:
    cluster = ready("abw", witnesses="w")
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.cut("a", "b")
    cluster.run(8.0)
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G2"))
    assert cluster.rows["w"].held() == {} and cluster.views()[0]["INBOX/G2"] == (2, ())


def test_a_witness_refuses_mail_and_goes_on() -> None:
    cluster = ready("abw", witnesses="w")
    cluster.said()
    lines = (
        "CREATE alice Work",
        "SAVE alice INBOX " + save("G1"),
        "CHECK alice",
        "LOCK alice INBOX",
        "FETCH alice guid=G1",
    )
    for tag, line in enumerate((*lines, "TX-BEGIN alice tx=t", "PING")):
        cluster.say(f"m1>w {tag} {line}")
    said = cluster.said("OK", "NO", "BAD")
    assert [line.split("%20")[0] for line in said] == [
        *(f"w>m1 {tag} NO FAILED why=a" for tag in range(6)),
        "w>m1 6 OK",
    ]
    assert cluster.rows["w"].held() == {} and cluster.nodes["w"].core.unneeded() == ["drop"]


def test_m7_the_master_tells_the_origin_of_a_late_store_what_the_flags_are() -> None:
    cluster = ready()
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.held |= {"a>b", "b>a"}
    cluster.say("m1>a * STORE alice INBOX uids=1 add=\\Seen")
    cluster.say("m2>b * STORE alice INBOX uids=1 add=work")
    cluster.said()
    cluster.held.discard("b>a")
    cluster.settle()
    [flags] = cluster.said("FLAGS")
    assert flags.startswith("a>b * FLAGS alice #INBOX guid=G1 ") and "+work@2.b" in flags and " modseq=3 held=" in flags
    cluster.held.clear()
    cluster.settle()
    assert cluster.views() == [{"INBOX/G1": (1, ("\\Seen", "work"))}] * 2


def test_m7_flags_of_which_no_line_can_tell_come_with_the_ops_alone() -> None:
    cluster = ready()
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    [guid] = cluster.names
    row = cluster.rows["a"].message(guid, "G1")
    assert row is not None
    flags = tuple(sorted(f"k{number:03d}{'y' * 200}" for number in range(400)))
    cluster.rows["a"].put_message(row._replace(flags=from_set(flags, Stamp(1, "a"))))
    cluster.held |= {"a>b", "b>a"}
    cluster.say("m1>a * STORE alice INBOX uids=1 add=\\Seen")
    cluster.say("m2>b * STORE alice INBOX uids=1 add=\\Answered")
    cluster.held.discard("b>a")
    cluster.settle()
    assert cluster.said("FLAGS") == []


def test_flags_that_come_from_ops_which_have_not_come_are_not_taken() -> None:
    """These may be lost with the disk of who told them."""
    cluster = ready()
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    b, [box] = cluster.nodes["b"], cluster.rows["b"].boxes("alice")
    stamps = (Register("work", True, Stamp(9, "a")),)
    for held, flags in (((Dot("a", 2), Dot("a", 3)), ()), ((Dot("a", 2),), ("work",))):
        told = FlagsOf(user="alice", box=by_guid(box), guid="G1", stamps=stamps, modseq=9, held=held)
        b.hear("a", "*", told, "", cluster.now)
        row = cluster.rows["b"].message(box.guid, "G1")
        assert row is not None and row.set_flags() == flags and b.core.journal.ahead == {}


def test_m8_a_store_by_the_master_needs_nothing_more_to_be_said() -> None:
    cluster = ready()
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G1"))
    cluster.said()
    cluster.say("m1>a * STORE alice INBOX uids=1 add=\\Seen")
    assert [line.split(" ")[2] for line in cluster.said() if ">m" not in line and "m1>" not in line] == ["STORE"]
    assert cluster.views() == [{"INBOX/G1": (1, ("\\Seen",))}] * 2


def test_p3_one_node_keeps_the_mailboxes_of_all_users() -> None:
    cluster = ready()
    for user in ("bob", "carol"):
        cluster.say(f"m1>a 1 CREATE {user} INBOX")
        cluster.say(f"m2>b 1 SAVE {user} INBOX " + save(f"of-{user}"))
    node = cluster.nodes["a"]
    assert {
        user: [row.guid for box in node.core.rows.boxes(user) for row in node.core.rows.messages(box.guid)]
        for user in node.core.rows.users()
    } == {"alice": [], "bob": ["of-bob"], "carol": ["of-carol"]}


def test_messages_with_long_guids_get_other_uids_in_ops_that_can_be_said() -> None:
    cluster = ready()
    [guid] = cluster.names
    for node in "ab":
        for number in range(160):
            name = f"G{number:03d}" + "\xe9" * ((MOST_GUID_BYTES - 4) // 2)
            row = MessageRow(guid, name, UNPLACED, Token(1, 0), (Dot("a", 1),), 4, 7)
            cluster.rows[node].put_message(row)
            cluster.stores[node].boxes[guid][name] = (UNPLACED, ())
    cluster.nodes["a"].core.unsettled.add(guid)
    cluster.run(3.0)
    for node in "ab":
        assert sorted(row.uid for row in cluster.rows[node].messages(guid)) == list(range(1, 161))
