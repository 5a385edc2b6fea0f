"""What mail processes ask. Requirements M1, M6, M7, M10, L2, L3, L5."""

from __future__ import annotations

from typing import Final

import pytest

from pyrepl.mailbox.answers import No, Ok
from pyrepl.mailbox.mail_side import MOST_OPEN_TX
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.portions import MOST_IN_OP
from pyrepl.mailbox.store import Stored
from pyrepl.mailbox.verbs import Create, Op, Rename, Store
from pyrepl.mailbox.words import Box, Dot
from tests.scenario.mailbox.cluster import Cluster, ready, save
from tests.simulation.mailbox.memory_rows import MemoryRows

SINCE: Final = 3
"""The highest modseq of `filled`."""


def filled() -> Cluster:
    cluster = ready()
    for guid in ("G1", "G2", "G3"):
        cluster.say("m1>a 1 SAVE alice INBOX " + save(guid))
    cluster.said()
    return cluster


def test_a_mail_of_a_guid_that_a_crash_left_waits_until_that_one_has_come_again() -> None:
    """It may be another mail, and the store has the text of the one that was left."""
    cluster = filled()
    [box] = cluster.names
    kept = cluster.nodes["a"].core.merger.kept
    kept[box] = {"G9": Stored(9, (), Dot("b", 7))}
    cluster.say("m1>a 1 SAVE alice INBOX " + save("G9"))
    assert [line.split(" why=")[0] for line in cluster.said("NO")] == ["a>m1 1 NO BUSY"]
    kept.clear()
    cluster.say("m1>a 2 SAVE alice INBOX " + save("G9"))
    assert "a>m1 2 OK" in cluster.said("OK")[-1] and "INBOX/G9" in cluster.views()[1]


def test_a_message_is_not_moved_into_its_own_mailbox() -> None:
    """Nothing would be copied, as it is there, and then it would be removed."""
    cluster = filled()
    cluster.say("m1>a * TX-BEGIN alice tx=t")
    cluster.say("m1>a 1 COPY alice INBOX uids=1:2 to=inbox tx=t")
    cluster.say("m1>a 2 EXPUNGE alice INBOX uids=1:2 tx=t")
    cluster.say("m1>a 3 TX-END alice tx=t")
    assert cluster.said("NO")[-1].startswith("a>m1 3 NO FAILED why=") and len(cluster.views()[0]) == 3


def test_copies_stand_in_the_order_in_which_their_messages_do() -> None:
    cluster = filled()
    cluster.say("m1>a 1 STORE alice INBOX uids=1:1 add=\\Seen")
    cluster.say("m1>a 2 STORE alice INBOX uids=3:3 add=\\Seen")
    cluster.say("m1>a 3 CREATE alice Work")
    cluster.say("m1>a 4 COPY alice INBOX uids=1:3 to=Work")
    for view in cluster.views():
        assert [view[f"Work/{guid}"][0] for guid in ("G1", "G2", "G3")] == [1, 2, 3]


def test_a_transaction_answers_the_uids_of_all_that_it_copied_to_a_mailbox() -> None:
    cluster = filled()
    cluster.say("m1>a 3 CREATE alice Work")
    cluster.say("m1>a * TX-BEGIN alice tx=t")
    for uid in (1, 3):
        cluster.say(f"m1>a 4 COPY alice INBOX uids={uid} to=Work tx=t")
        cluster.say(f"m1>a 5 EXPUNGE alice INBOX uids={uid} tx=t")
    cluster.say("m1>a 6 TX-END alice tx=t")
    assert " uids=1:2 " in cluster.said("OK")[-1]
    assert set(cluster.views()[1]) == {"INBOX/G2", "Work/G1", "Work/G3"}


def test_a_save_that_no_line_can_say_is_refused() -> None:
    cluster = filled()
    keywords = ",".join(f"keyword{number:08}" for number in range(3800))
    cluster.say("m1>a 5 " + "SAVE alice INBOX " + save("G9").replace("flags=()", f"flags={keywords}"))
    assert cluster.said("NO")[-1].startswith("a>m1 5 NO FAILED why=") and "INBOX/G9" not in cluster.views()[0]
    cluster.say("m1>a 6 SAVE alice INBOX " + save("G8"))
    assert "INBOX/G8" in cluster.views()[1]


def keywords(part: str, count: int) -> str:
    return ",".join(f"{part}{number:03}{'y' * 200}" for number in range(count))


def test_a_message_gets_no_more_keywords_than_a_line_can_tell_of_it() -> None:
    cluster = filled()
    for part in ("k", "m"):
        cluster.say(f"m1>a 1 STORE alice INBOX uids=1 add={keywords(part, 9)}")
        cluster.say(f"m1>a 2 STORE alice INBOX uids=1 remove={keywords(part, 9)}")
        cluster.say(f"m1>a 3 STORE alice INBOX uids=1:3 add={keywords(part, 18)}")
    said = [line.split(" why=")[0] for line in cluster.said("OK", "NO") if line.startswith("a>m1")]
    assert said[0].startswith("a>m1 1 OK") and said[1].startswith("a>m1 2 OK") and said[2].startswith("a>m1 3 OK")
    assert said[3:] == ["a>m1 1 NO FAILED", "a>m1 2 NO FAILED", "a>m1 3 NO FAILED"]
    cluster.say("m1>a 4 STORE alice INBOX uids=1:3 add=\\Seen,\\Deleted remove=k000" + "y" * 200)
    assert cluster.said("OK")[-1].startswith("a>m1 4 OK")


def test_nor_by_several_commands_of_a_transaction() -> None:
    cluster = filled()
    cluster.say("m1>a * TX-BEGIN alice tx=t")
    for part in ("k", "m", "n"):
        cluster.say(f"m1>a 1 STORE alice INBOX uids=1 add={keywords(part, 9)} tx=t")
    cluster.say("m1>a 2 TX-END alice tx=t")
    assert cluster.said("NO")[-1].startswith("a>m1 2 NO FAILED why=") and cluster.views()[1]["INBOX/G1"] == (1, ())


def test_nor_by_a_copy() -> None:
    cluster = filled()
    for part in ("k", "m"):
        cluster.nodes["a"].core.do([store_of(cluster, "G1", tuple(keywords(part, 15).split(",")))])
    cluster._after("a")
    cluster.say("m1>a 1 CREATE alice Work")
    cluster.say("m1>a 2 COPY alice INBOX uids=1:3 to=Work")
    assert cluster.said("NO")[-1].startswith("a>m1 2 NO FAILED why=")


def store_of(cluster: Cluster, guid: str, flags: tuple[str, ...]) -> Store:
    [box] = cluster.names
    return Store(user="alice", box=Box(box, True), guids=(guid,), add=flags)


def test_m1_store_and_expunge_need_no_master() -> None:
    cluster = filled()
    cluster.say("m2>b 1 STORE alice INBOX uids=1:2 add=\\Seen")
    cluster.say("m2>b 2 EXPUNGE alice INBOX uids=2")
    assert cluster.said("TAKE") == []
    assert cluster.views() == [{"INBOX/G1": (1, ("\\Seen",)), "INBOX/G3": (3, ())}] * 2


def test_m10_unchangedsince_is_compared_under_the_lock() -> None:
    cluster = filled()
    cluster.say("m1>a 2 STORE alice INBOX uids=2 add=work")
    cluster.said()
    cluster.say("m2>b 1 STORE alice INBOX uids=1:3 add=\\Seen unchangedsince=3")
    said = cluster.said("TAKE", "GIVE", "NO")
    assert [line.split(" ")[2] for line in said] == ["TAKE", "GIVE", "NO"] and said[-1] == "b>m2 1 NO MODIFIED uids=2"
    assert cluster.views()[0]["INBOX/G1"] == (1, ("\\Seen",)) and cluster.views()[0]["INBOX/G2"] == (2, ("work",))


def crossing(conditional: str, plain: str, words: str) -> list[tuple[tuple[str, ...], int]]:
    """Nodes a and b change G2 at the same time: one adds \\Seen with unchangedsince, the other by a plain STORE with
    these words. Its flags and its modseq then, on a and on b."""
    cluster = filled()
    cluster.say(f"m1>{conditional} 1 LOCK alice INBOX")
    cluster.say(f"m1>{conditional} * UNLOCK alice INBOX")
    cluster.held |= {"a>b", "b>a"}
    cluster.said()
    cluster.say(f"m1>{conditional} * STORE alice INBOX uids=2 add=\\Seen unchangedsince={SINCE}")
    cluster.say(f"m2>{plain} * STORE alice INBOX uids=2 {words}")
    sent = [line for line in cluster.said("STORE") if f"modseq={SINCE + 1} " in line]
    assert len(sent) == 2, "neither node knows of the other one's"
    cluster.held.clear()
    cluster.settle()
    [guid] = cluster.names
    rows = [cluster.rows[name].message(guid, "G2") for name in "ab"]
    return [(row.set_flags(), row.modseq) for row in rows if row is not None]


@pytest.mark.parametrize(("conditional", "plain"), [("a", "b"), ("b", "a")])
def test_m10_a_plain_store_at_the_same_time_ends_up_on_top(conditional: str, plain: str) -> None:
    """On both nodes its flags are added to those of the STORE unchangedsince, and the message has a modseq above that
    of both, so who asks what has changed since the one sees the other."""
    assert crossing(conditional, plain, "add=work") == [(("\\Seen", "work"), SINCE + 2)] * 2


def test_m10_of_one_flag_the_plain_store_with_the_higher_stamp_is_on_top() -> None:
    """Of one flag the change with the higher (modseq, node) stands, here that of b."""
    assert crossing("a", "b", "remove=\\Seen") == [((), SINCE + 2)] * 2


def test_m6_expunge_does_not_wait_for_the_lock_of_another() -> None:
    """Neither at the node that is asked nor at the one whose mail process has the LOCK."""
    cluster = filled()
    cluster.say("m1>a 2 LOCK alice INBOX")
    cluster.said()
    cluster.say("m2>b 1 EXPUNGE alice INBOX uids=2")
    assert cluster.said("OK", "TAKE", "GIVE")[-1].startswith("b>m2 1 OK")
    cluster.say("m3>a 1 EXPUNGE alice INBOX uids=3")
    assert [line.split(" ")[:3] for line in cluster.said("OK", "TAKE", "GIVE")][-1] == ["a>m3", "1", "OK"]
    assert cluster.views() == [{"INBOX/G1": (1, ())}] * 2


def test_m6_expunge_does_not_wait_for_another_node() -> None:
    """It is done here, and on its way to the other, before that one has said anything."""
    cluster = filled()
    cluster.held.add("a>b")
    cluster.say("m2>b * EXPUNGE alice INBOX uids=2")
    assert [line.split(" ")[0] for line in cluster.said("EXPUNGE", "TAKE")] == ["m2>b", "b>a"]
    assert cluster.views() == [{"INBOX/G1": (1, ()), "INBOX/G3": (3, ())}] * 2


def test_l3_a_save_without_a_text_needs_the_message_elsewhere() -> None:
    cluster = filled()
    cluster.say("m1>a 2 CREATE alice Archive")
    cluster.said()
    words = "received=1795333408 size=4"
    cluster.say(f"m1>a 3 SAVE alice Archive guid=G2 {words}")
    assert any(line.startswith("a>m1 3 OK uid=1") for line in cluster.said("OK"))
    cluster.say(f"m1>a 4 SAVE alice Archive guid=G9 {words}")
    assert any(line.startswith("a>m1 4 NO NOUID") for line in cluster.said("NO"))


def test_l3_copy_links_what_is_there() -> None:
    cluster = filled()
    cluster.say("m1>a 2 CREATE alice Archive")
    cluster.say("m2>b 3 COPY alice INBOX to=Archive uids=2:3")
    assert "b>m2 3 OK uids=1:2 modseq=1 at=b:1 acks=1" in cluster.said("OK")
    assert [view["Archive/G3"] for view in cluster.views()] == [(2, ())] * 2
    cluster.say("m2>b 4 COPY alice INBOX to=Nowhere uids=2")
    assert cluster.said("NO") == ["b>m2 4 NO NOBOX"]


def test_l5_a_move_is_one_transaction_everywhere() -> None:
    cluster = filled()
    cluster.say("m1>a 2 CREATE alice Archive")
    cluster.said()
    cluster.say("m1>a * TX-BEGIN alice tx=7")
    cluster.say("m1>a 3 COPY alice INBOX to=Archive uids=1 tx=7")
    cluster.say("m1>a 4 EXPUNGE alice INBOX uids=1 tx=7")
    assert not [line for line in cluster.said() if line.startswith("a>b")]
    cluster.say("m1>a 5 TX-END alice tx=7")
    assert [("left=1" in line) for line in cluster.said("COPY", "EXPUNGE") if line.startswith("a>b")] == [True, False]
    assert [sorted(view) for view in cluster.views()] == [["Archive/G1", "INBOX/G2", "INBOX/G3"]] * 2


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["STORE alice INBOX uids=1 add=a"] * 1000, "OK"),
        (["STORE alice INBOX uids=1 add=a"] * 1001, "BAD why=a%20transaction%20has%201000"),
        (
            ["STORE alice INBOX uids=1 add=a", "CREATE alice New", "EXPUNGE alice INBOX uids=1"],
            "BAD why=a%20transaction",
        ),
        ([f"STORE alice INBOX uids=1 add={'k' * 250},{'l' * 250}"] * 999, "OK"),
        (
            [f"STORE alice INBOX uids=1 add={','.join(letter * 250 for letter in 'klmnop')}"] * 999,
            "BAD why=a%20transaction",
        ),
    ],
    ids=["most", "too many", "a CREATE", "large", "too large"],
)
def test_l5_of_a_transaction_of_which_a_part_is_refused_nothing_is_done(lines: list[str], answer: str) -> None:
    cluster = filled()
    cluster.say("m1>a * TX-BEGIN alice tx=7")
    for line in lines:
        cluster.say(f"m1>a * {line} tx=7")
    cluster.said()
    cluster.say("m1>a 9 TX-END alice tx=7")
    assert [line for line in cluster.said() if line.startswith(f"a>m1 9 {answer}")]
    assert (cluster.views()[0]["INBOX/G1"] == (1, ())) is (answer != "OK")


def test_only_so_many_transactions_are_open() -> None:
    cluster = ready()
    for number in range(11):
        cluster.say(f"m1>a * TX-BEGIN alice tx={number}")
    cluster.say("m1>a 6 TX-END alice tx=10")
    assert cluster.said("BAD")[0].startswith("a>m1 6 BAD why=TX-BEGIN")
    cluster.say("m1>a 7 TX-END alice tx=9")
    cluster.say("m1>a * TX-BEGIN alice tx=10")
    cluster.say("m1>a 8 TX-END alice tx=10")
    assert [line[:9] for line in cluster.said("OK")] == ["a>m1 7 OK", "a>m1 8 OK"]


def test_s5_the_begin_of_a_transaction_is_answered_where_it_has_a_tag() -> None:
    cluster = filled()
    for number in range(MOST_OPEN_TX + 1):
        cluster.say(f"m1>a {number} TX-BEGIN alice tx={number}")
    said = cluster.said("OK", "BAD")
    assert said[:-1] == [f"a>m1 {number} OK" for number in range(MOST_OPEN_TX)]
    assert said[-1].startswith(f"a>m1 {MOST_OPEN_TX} BAD why=")


def test_l5_of_two_commands_of_a_transaction_for_one_mailbox_the_later_stands() -> None:
    cluster = filled()
    cluster.say("m1>a * TX-BEGIN alice tx=t")
    for command in ("SUBSCRIBE alice INBOX", "UNSUBSCRIBE alice INBOX"):
        cluster.say(f"m1>a 1 {command} tx=t")
    cluster.say("m1>a 2 TX-END alice tx=t")
    assert not any(box.subscribed for rows in cluster.rows.values() for box in rows.boxes("alice"))


def test_a_mailbox_with_the_id_of_another_is_not_made() -> None:
    cluster = filled()
    [guid] = cluster.names
    cluster.say(f"m1>a 1 CREATE alice Other id={guid}")
    cluster.say(f"m1>a 2 CREATE bob INBOX id={guid}")
    cluster.say("m1>a 3 CREATE alice Gone id=" + "7" * 32)
    cluster.say("m1>a 4 DELETE alice Gone")
    cluster.say("m1>a 5 CREATE alice Gone id=" + "7" * 32)
    said = [line for line in cluster.said("OK", "NO") if line.startswith("a>m1")]
    assert [line.split(" at=")[0] for line in said if " NO " in line] == [f"a>m1 {tag} NO EXISTS" for tag in (1, 2, 5)]
    assert len(list(cluster.rows["b"].boxes("alice"))) == 2


def test_l5_a_transaction_may_be_given_up() -> None:
    cluster = filled()
    cluster.say("m1>a * TX-BEGIN alice tx=7")
    cluster.say("m1>a * EXPUNGE alice INBOX uids=1 tx=7")
    cluster.say("m1>a 5 TX-END alice tx=7 abort=1")
    assert "INBOX/G1" in cluster.views()[0]
    cluster.say("m1>a 6 EXPUNGE alice INBOX uids=1 tx=8")
    assert cluster.said("BAD")[0].startswith("a>m1 6 BAD why=TX-BEGIN")


def test_l2_folders_are_made_renamed_with_what_is_below_and_deleted() -> None:
    cluster = ready()
    for name in ("Work", "Work/2026"):
        cluster.say(f"m1>a 1 CREATE alice {name}")
    cluster.say("m2>b 2 CREATE alice Work")
    assert "b>m2 2 NO EXISTS" in cluster.said("NO")
    cluster.say("m2>b 3 RENAME alice Work to=Old")
    assert [sorted(store.names.values()) for store in cluster.stores.values()] == [["INBOX", "Old", "Old/2026"]] * 2
    cluster.say("m1>a 4 DELETE alice Old/2026")
    cluster.say("m1>a 5 SUBSCRIBE alice Old")
    assert [sorted(store.names.values()) for store in cluster.stores.values()] == [["INBOX", "Old"]] * 2
    assert cluster.stores["b"].subscribed == {"Old"}


def test_what_is_not_there_is_said_so() -> None:
    cluster = ready()
    cluster.say("m1>a 1 LOCK alice Nowhere")
    cluster.say("m1>a 2 FETCH alice guid=G9")
    cluster.say("m1>a 3 PING")
    assert cluster.said("NO", "OK") == ["a>m1 1 NO NOBOX", "a>m1 2 NO NOUID", "a>m1 3 OK"]


def test_s4_what_another_node_answers_comes_to_the_mail_process_that_asked() -> None:
    cluster = filled()
    cluster.say("m1>a * STORE alice INBOX uids=1 add=work")
    cluster.say("m2>b 7 STORE alice INBOX uids=1 add=\\Seen unchangedsince=3")
    cluster.say("m3>b 7 SAVE alice INBOX " + save("G4"))
    to_mail = [line for line in cluster.said("OK", "NO") if ">m" in line]
    assert to_mail == ["b>m2 7 NO MODIFIED uids=1", "b>m3 7 OK uid=4 at=b:1 acks=1"]


def test_s5_a_command_without_a_tag_is_not_answered() -> None:
    cluster = filled()
    for line in ("STORE alice INBOX uids=1 add=work", "STORE alice Nowhere uids=1 add=work", "FETCH alice guid=G9"):
        cluster.say(f"m1>a * {line}")
    assert not [line for line in cluster.said() if line.startswith("a>m")]
    cluster.say("m1>a 7 FETCH alice guid=G9")
    assert cluster.said("NO") == ["a>m1 7 NO NOUID"]


def _answers(options: NodeOptions, *commands: Op) -> list[str]:
    """OK, or why not."""
    node = Node("a", Members((Member("a"),)), MemoryRows(), 0.0, options)
    for number, command in enumerate(commands):
        node.hear_mail("m", str(number), command, "", 10.0)
    found = []
    for reply in node.core.replies():
        assert isinstance(reply.answer, Ok | No)
        found.append("OK" if isinstance(reply.answer, Ok) else f"{reply.answer.reason}: {reply.answer.why}")
    return found


def test_a_name_that_this_node_cannot_store_is_refused() -> None:
    """Answered OK, the mailbox would be there under another name."""
    create, rename = Create(user="alice", box=Box("Work")), Rename(user="alice", box=Box("Work"), to=Box("v1.2"))
    below = Create(user="alice", box=Box("Work/" + "x" * 200))
    longer = Rename(user="alice", box=Box("Work"), to=Box("W" * 60))
    layout = NodeOptions(layout=LAYOUTS["maildir++"])
    dots = "DENIED: a name with a dot cannot be stored in the Maildir++ layout, where the dot parts folders"
    long = "DENIED: the folder's name would be longer than 255 bytes"
    assert _answers(layout, create, Create(user="alice", box=Box("a.b")), rename) == ["OK", dots, dots]
    assert _answers(layout, create, below, longer) == ["OK", "OK", long], "a mailbox below has the name before its own"
    assert _answers(NodeOptions(), create, rename) == ["OK", "OK"]


def test_a_user_who_can_have_no_mailbox_in_the_store_is_refused() -> None:
    """Answered OK, this user's mailboxes would stand still for good, on all nodes."""
    options = NodeOptions(why_no_user=lambda user: "" if "@" in user else "a domain is needed")
    asked = [Create(user=user, box=Box("INBOX")) for user in ("alice", "alice@here")]
    assert _answers(options, *asked) == ["DENIED: a domain is needed", "OK"]


def test_a_user_whose_folder_would_be_one_of_the_nodes_own_is_refused() -> None:
    asked = [Create(user=user, box=Box("INBOX")) for user in (".pyrepl-drop", "a@.pyrepl-drop", "a.b@c.d")]
    answers = _answers(NodeOptions(), *asked)
    assert [answer.partition(":")[0] for answer in answers] == ["DENIED", "DENIED", "OK"]


def _lefts(cluster: Cluster, since: int) -> list[tuple[str, int]]:
    """Node a's ops: how many of their transactions follow."""
    return [(op.VERB, op.left) for op in cluster.rows["a"].ops("a", since, 100)]


def test_one_command_about_many_messages_comes_portion_by_portion() -> None:
    cluster = ready()
    names = [f"G{number:03}" for number in range(MOST_IN_OP + 1)]
    for name in names:
        cluster.say("m1>a 1 SAVE alice INBOX " + save(name))
    cluster.say("m1>a 1 CREATE alice Archive")
    for command, verb in (
        ("STORE alice INBOX uids=1:301 add=k", "STORE"),
        ("COPY alice INBOX uids=1:301 to=Archive", "COPY"),
        ("EXPUNGE alice INBOX uids=1:301", "EXPUNGE"),
    ):
        since = cluster.rows["a"].held()["a"]
        cluster.said()
        cluster.say(f"m1>a 2 {command}")
        assert _lefts(cluster, since) == [(verb, 0)] * 2
        [answer] = [line for line in cluster.said("OK") if line.startswith("a>m1 2")]
        assert f"at=a:{since + 2} " in answer and answer.endswith("acks=1")
    assert cluster.views() == [{f"Archive/{name}": (uid, ("k",)) for uid, name in enumerate(names, 1)}] * 2


def test_l5_a_transaction_that_could_not_come_whole_is_refused() -> None:
    cluster = filled()
    cluster.nodes["a"].core.journal.most_tx_bytes = 10_000
    for command, answer in (
        ("STORE alice INBOX uids=1 add=a", "OK"),
        ("STORE alice INBOX uids=1:3 add=b", "NO FAILED"),
    ):
        cluster.say("m1>a * TX-BEGIN alice tx=7")
        for _ in range(3 if answer == "OK" else 4):
            cluster.say(f"m1>a 3 {command} tx=7")
        cluster.said()
        cluster.say("m1>a 5 TX-END alice tx=7")
        [line] = [line for line in cluster.said("OK", "NO") if line.startswith("a>m1 5")]
        assert line.startswith(f"a>m1 5 {answer}")
    assert "why=a%20transaction%20of%20" in line
    assert cluster.views()[1]["INBOX/G1"] == (1, ("a",))
