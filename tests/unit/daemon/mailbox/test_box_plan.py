"""What a batch needs before any file is touched."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.box_plan import BoxPlan, BoxWork, portions
from pyrepl.daemon.mailbox.uidlist_file import UidlistFile, create
from pyrepl.mailbox.maildir.filename import made_base
from pyrepl.mailbox.maildir.uidlist import LAST_UID, Entry
from pyrepl.mailbox.store import DONE, AddMessage, MoveMessage, Outcome, RaiseNext, RemoveMessage, Result, SetFlags
from tests.unit.daemon.mailbox.model_disk import ModelDisk


def _add(guid: str, uid: int, size: int = 3) -> AddMessage:
    return AddMessage("u", "b", guid, uid, (), 0, size, "text")


def _move(guid: str, uid: int) -> MoveMessage:
    return MoveMessage("u", "b", guid, uid)


def _plan(
    works: list[BoxWork],
    *known: Entry,
    present: tuple[int, ...] = (),
    text: bytes | None = b"/text",
    aside: str = "",
) -> BoxPlan:
    disk = ModelDisk()
    disk.make_folders(b"/box")
    create(disk, b"/box", 7, b"0" * 32, 1)
    file = UidlistFile(disk, b"/box")
    file.load()
    file.append(list(known), 1)
    plan = BoxPlan(
        file,
        lambda guid: [each for each in file.of_guid(guid) if each.uid in present],
        lambda work: text,
        lambda guid: b"/aside" if guid == aside else None,
    )
    for index, work in enumerate(works):
        plan.add(index, work)
    return plan


def test_no_guid_is_twice_in_one_portion() -> None:
    works: list[BoxWork] = [
        *(_add("a", 1), SetFlags("u", "b", "a", ()), _add("b", 2), RemoveMessage("u", "b", "a"), _move("b", 3)),
        *(_move("a", 4), RaiseNext("u", "b", 9)),
    ]
    assert [len(portion) for portion in portions(works)] == [3, 2, 2]
    assert [work for portion in portions(works) for work in portion] == works
    assert list(portions([])) == []


def test_a_new_message_gets_a_line() -> None:
    plan = _plan([_add("a", 3), _add("b,S=4", 5)])
    assert plan.new == [Entry(3, b"a"), Entry(5, made_base(b"b,S=4", 5, None), b"b,S=4")]
    assert plan.sources == {0: b"/text", 1: b"/text"} and plan.next_uid == 6


@pytest.mark.parametrize(("guid", "size"), [("1.a,S=664", None), ("1.a,S=3", 3), ("1.a", 3)])
def test_a_name_states_no_other_size_than_the_guid_does(guid: str, size: int | None) -> None:
    """A Dovecot that keeps mail compressed states the size of the text, and believes what a name states."""
    raw = guid.encode()
    plan = _plan([_add(guid, 3)], Entry(1, raw, b"another"))
    assert plan.new == [Entry(3, made_base(raw, 3, size), raw)]


def test_one_that_is_there_needs_nothing() -> None:
    plan = _plan([_add("a", 3)], Entry(3, b"a"), present=(3,))
    assert (plan.new, plan.entries, plan.results) == ([], {}, {})
    plan = _plan([_add("a", 9)], Entry(3, b"a"), present=(3,))
    assert plan.new == [plan.entries[0]] == [Entry(9, made_base(b"a", 9, 3), b"a")] and plan.sources == {}


def test_the_line_of_a_try_before_is_used() -> None:
    plan = _plan([_add("a", 3)], Entry(3, b"a"))
    assert (plan.new, plan.entries) == ([], {0: Entry(3, b"a")})


def test_a_base_that_an_expunged_message_had_is_not_used_again() -> None:
    plan = _plan([_add("a", 4)], Entry(3, b"a"))
    assert plan.new == [Entry(4, made_base(b"a", 4, 3), b"a")]


def test_a_message_that_moves_gets_a_line_with_its_guid() -> None:
    plan = _plan(
        [_move("a,S=8", 7), _move("gone", 8), _move("x", 3)], Entry(2, b"a,S=8"), Entry(3, b"x"), present=(2, 3)
    )
    assert plan.new == [Entry(7, made_base(b"a,S=8", 7, 8), b"a,S=8")]
    assert plan.entries == {0: plan.new[0]}


def test_what_cannot_be_is_told() -> None:
    plan = _plan([_add("a", 2), RaiseNext("u", "b", 50), _add("b", 49), _add("c", LAST_UID + 1)], Entry(2, b"x"))
    assert plan.results[0] == Result(Outcome.TOO_LOW, next_uid=3) and plan.results[2] == Result(
        Outcome.TOO_LOW, next_uid=50
    )
    assert plan.results[3].outcome is Outcome.FAILED and plan.aside == {0, 2}
    assert _plan([_add("a", 2)], text=None).results[0].outcome is Outcome.NO_TEXT


def test_what_has_no_uid_goes_aside_and_comes_from_there() -> None:
    plan = _plan(
        [_add("a", 0), _move("x", 0), _move("b,S=3", 9), _move("c", 9)], Entry(2, b"x"), present=(2,), aside="b,S=3"
    )
    assert plan.aside == {0, 1} and plan.results == {0: DONE, 1: DONE, 3: Result(Outcome.NO_TEXT)}
    assert plan.sources == {0: b"/text", 2: b"/aside"}
    assert plan.new == [Entry(9, made_base(b"b,S=3", 9, 3), b"b,S=3")] and plan.entries == {2: plan.new[0]}
    assert _plan([_add("b", 4)], text=None, aside="b").sources == {0: b"/aside"}


def test_the_next_uid_never_passes_the_last() -> None:
    assert _plan([RaiseNext("u", "b", 2**40)]).next_uid == LAST_UID + 1
