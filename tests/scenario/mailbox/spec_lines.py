r"""The lines of the specification's transcripts, beside what is really said.

A transcript has each line of the specification above the line that it became:

    # spec: a>b * GIVE alice INBOX token=4.18 uid=58 ..
    # differs: tag: a GIVE is answered, so that one that a broken link lost is said again
    a>b g1 GIVE alice #INBOX token=4.18 uid=58 modseq=302 held=a:901

Who speaks to whom, the verb, the words behind it and each `key=value` of the specification are there to the letter. The
keys may stand in another order, and there may be more of them. By rule, without being named:

- tags may be other ones, as each end counts its own; but `*` stays `*`, and a tag stays a tag. Where the specification
  has none, there may be any;
- between nodes a mailbox is named by its GUID, `#INBOX`, since it may have another name on the other node;
- `..` is what the specification left out: words, or the end of a value.

`# differs: NAMES: why` names all that is different in the line: `way`, `tag`, `verb`, `user`, `box`, `reason`, `words`
(what has no name), `text`, or keys. What is named and does not differ is as wrong as what differs and is not named.
`# differs: all: why`: the line is not said at all, which is wrong if one of the transcript says it. `# differs: more:
why` stands above a line that is more than the specification has, or has more words, where that needs a reason.

Not here: what makes nodes say something (replay.py).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pyrepl.mailbox.answers import ANSWERS
from pyrepl.mailbox.verbs import BY_VERB

SPEC: Final = "# spec: "
DIFFERS: Final = "# differs: "
LEFT_OUT: Final = ".."
ALL: Final = "all"
MORE: Final = "more"
_VERBS: Final = BY_VERB | ANSWERS
_SAID: Final = re.compile(r"\w+>\w+ ")
_REASON: Final = re.compile(rf"{DIFFERS}([\w -]+): (.+)")


class Wanted(NamedTuple):
    """A line of the specification, and the names of what may be different."""

    spec: str
    differs: frozenset[str] = frozenset()


def is_said(line: str) -> bool:
    """Does somebody say this line, and not only happen something?"""
    return _SAID.match(line) is not None


def words_of(line: str) -> dict[str, str]:
    """A line's words by their names. ValueError if it has no verb."""
    way, *words = line.split()
    found = {"way": way}
    if words and words[0] not in _VERBS:
        found["tag"] = "*" if words.pop(0) == "*" else "a tag"
    if not words or words[0] not in _VERBS:
        raise ValueError(f"expected a verb, got {line!r}")
    found["verb"] = words.pop(0)
    places = iter(_VERBS[found["verb"]].POSITIONS)
    for word in words:
        key, equals, value = word.partition("=")
        if word == LEFT_OUT:
            continue
        if word.startswith("{"):
            found["text"] = word
        elif equals:
            found[key] = value.removeprefix("#")
        else:
            name = next(places, "words")
            found[name] = " ".join([*found.get(name, "").split(), word]).removeprefix("#")
    return found


def differing(spec: str, said: str) -> frozenset[str]:
    """The names of what the specification has and the line has not, or has otherwise."""
    wanted, found = words_of(spec), words_of(said)
    return frozenset(name for name, value in wanted.items() if not _is_same(value, found.get(name)))


def _is_same(wanted: str, found: str | None) -> bool:
    if found is None:
        return False
    return found.startswith(wanted.removesuffix(LEFT_OUT)) if wanted.endswith(LEFT_OUT) else found == wanted


def unmet(text: str) -> list[str]:
    """What of a transcript is not as the specification has it, and is not said to differ."""
    lines = text.splitlines()
    said = [line for line in lines if is_said(line)]
    wrong: list[str] = []
    waiting: list[Wanted] = []
    for line in lines:
        if line.startswith(SPEC):
            waiting.append(Wanted(line.removeprefix(SPEC)))
        elif line.startswith(DIFFERS):
            wrong += _note(waiting, line)
        elif not line.startswith("#"):
            wrong += _judge(waiting, line, said)
            waiting = []
    return wrong + _judge(waiting, "", said)


def _note(waiting: list[Wanted], line: str) -> list[str]:
    """Take down what may differ in the line of the specification above; what is wrong with that."""
    match = _REASON.fullmatch(line)
    if match is None:
        return [f"expected names, a colon and a reason: {line}"]
    names = frozenset(match[1].split())
    if names == {MORE}:
        return []
    if not waiting:
        return [f"below no line of the specification: {line}"]
    waiting[-1] = waiting[-1]._replace(differs=waiting[-1].differs | names)
    return []


def _judge(waiting: list[Wanted], line: str, said: list[str]) -> list[str]:
    wrong: list[str] = []
    for spec, differs in waiting:
        if differs == {ALL}:
            wrong += [f"is said: {spec}: {each}" for each in said if not differing(spec, each)]
        elif not is_said(line):
            wrong.append(f"nothing is said below: {spec}")
        elif (found := differing(spec, line)) != differs:
            wrong.append(f"{spec}: differs in {' '.join(sorted(found ^ differs))}: {line}")
    return wrong
