"""Any command at all, made from the kinds of its fields: for the tests of the wire."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from pyrepl.mailbox.answers import ANSWERS, Reason
from pyrepl.mailbox.kinds import KINDS
from pyrepl.mailbox.verbs import BY_VERB, Command
from pyrepl.mailbox.words import LAST_MODSEQ, LAST_UID, SYSTEM_FLAGS, Box, Dot, Register, Stamp, Token, ranges

TEXT: Final = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=20)
ORIGIN: Final = st.from_regex(r"[A-Za-z0-9_.-]{1,8}(~[0-9]{1,3})?", fullmatch=True)
NUMBER: Final = st.integers(0, 2**53)
USER: Final = TEXT.filter(lambda text: text not in ("", ".", "..") and "/" not in text and len(text) < 256)
PART: Final = TEXT.filter(lambda text: text not in ("", ".", "..") and "/" not in text and text[0] != "~")
GUID: Final = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="/"), min_size=1, max_size=30
).filter(lambda text: not text.startswith(".") and len(text.encode()) <= 128)
KEYWORD: Final = TEXT.filter(lambda text: text not in ("", "*", "()") and not text.startswith("\\") and " " not in text)
FLAG: Final = st.sampled_from(sorted(SYSTEM_FLAGS.values())) | KEYWORD
DOT: Final = st.builds(Dot, ORIGIN, st.integers(0, LAST_MODSEQ))
TOKEN: Final = st.builds(Token, NUMBER, st.integers(-1, 1000))
STAMP: Final = st.builds(Stamp, st.integers(0, LAST_MODSEQ), ORIGIN)
HEX32: Final = st.from_regex(r"[0-9a-f]{32}", fullmatch=True)


def _boxes() -> st.SearchStrategy[Box]:
    from pyrepl.mailbox.words import box_name

    names = st.lists(PART, min_size=1, max_size=3).map("/".join).map(lambda text: Box(box_name(text)))
    return names | HEX32.map(lambda text: Box(text, True))


def listed(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=4).map(tuple)


VALUES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "User": USER,
    "Box": _boxes(),
    "BoxGuid": HEX32,
    "Node": ORIGIN,
    "Guid": GUID,
    "Guids": listed(GUID),
    "Text": TEXT,
    "Flags": listed(FLAG),
    "Registers": listed(st.builds(Register, FLAG, st.booleans(), STAMP)),
    "Uid": st.integers(1, LAST_UID),
    "UidOrNone": st.integers(0, LAST_UID),
    "UidNext": st.integers(1, LAST_UID + 1),
    "Uids": st.sets(st.integers(1, 50) | st.integers(1, LAST_UID), max_size=8).map(lambda found: ranges(sorted(found))),
    "Modseq": st.integers(0, LAST_MODSEQ),
    "Dot": DOT,
    "Dots": listed(DOT),
    "Vector": st.dictionaries(ORIGIN, st.integers(0, LAST_MODSEQ), max_size=4).map(
        lambda held: tuple(sorted(Dot(*pair) for pair in held.items()))
    ),
    "Token": TOKEN,
    "Stamp": STAMP,
    "Sums": listed(st.integers(0, 2**32 - 1)),
    "UidValidity": st.integers(1, 2**32 - 1),
    "Count": NUMBER,
    "Epoch": NUMBER,
    "Seconds": NUMBER,
    "Milliseconds": NUMBER,
    "Yes": st.booleans(),
}
_NAMES: Final = {id(kind): name for name, kind in KINDS.items()}
_SHARED: Final = {"Epoch", "Seconds", "Milliseconds", "Count"}


def fields(kind: type[Command]) -> st.SearchStrategy[dict[str, Any]]:
    """The fields of a command: those that are needed, and any of the others."""
    values = {name: VALUES[_NAMES[id(shape)]] for name, shape in kind.SHAPE.items()}
    if "reason" in values:
        values["reason"] = st.sampled_from([str(reason) for reason in Reason])
    return st.fixed_dictionaries(
        {name: values[name] for name in kind.NEEDED},
        optional={name: value for name, value in values.items() if name not in kind.NEEDED},
    )


def commands() -> st.SearchStrategy[Command]:
    """Any command or answer; a position is only given if those before it are."""
    kinds = [*BY_VERB.values(), *ANSWERS.values()]
    return st.sampled_from(kinds).flatmap(lambda kind: fields(kind).map(lambda given: kind(**_filled(kind, given))))


def _filled(kind: type[Command], given: dict[str, Any]) -> dict[str, Any]:
    if kind.POSITIONS and not given.get(kind.POSITIONS[0]):
        return {name: value for name, value in given.items() if name not in kind.POSITIONS}
    return given
