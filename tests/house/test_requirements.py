"""Each requirement of the mailboxes has a test that names it: `test_t6_..` is about T6.

The requirements are those of the design note from which the mailboxes were made. Not here: what the tests say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.house.source import python, shown

REQUIREMENTS: Final = {
    "P1": "modseqs are of the cluster: a record gives UIDs a modseq, without UIDs it raises the highest",
    "P2": "a change that states no modseq has the one after the change before it",
    "P3": "one process for the mailboxes of all users",
    "S1": "mail processes come over a UNIX socket, or by TCP",
    "S2": "what is said to a node and what is heard of it go over one connection",
    "S3": "the tracker of masters is a part of its own",
    "S4": "an answer finds the mail process that asked",
    "S5": "with a tag a command is answered, with `*` it is not",
    "T1": "LOCK: at once if the mailbox is ours, else who has it is asked",
    "T2": "timeouts, and masters and mail processes that vanish",
    "T3": "UNLOCK has no answer, and the last one lets others have their turn",
    "T4": "GIVE makes us the master, and waiting LOCKs are answered",
    "T5": "TAKE hands the mastership on when no LOCK is open; new ones wait meanwhile",
    "T6": "of several TAKEs the first gets it, the others are sent on",
    "T7": "a TAKE turns the hint, and goes to the root if nothing is known",
    "T8": "ROOT-SET ends all masterships",
    "T9": "ROOT-CLEAR goes to the root, and the last one lets it begin",
    "T10": "how the root is chosen",
    "V1": "LOCK, UIDs, SAVE, UNLOCK",
    "V2": "several LOCKs at once; their SAVEs go out in order",
    "V3": "what a SAVE waits for",
    "V4": "the lowest UID first, as in the note's example",
    "V5": "of a single holder SAVEs go out as they come",
    "V6": "of holders in order one SAVE each waits at most",
    "V7": "nothing waits for the number of LOCKs to reach zero",
    "V8": "synchronous mode: a SAVE is answered when another node has it",
    "V9": "SAVE by who is not the master and gives out no UIDs",
    "M1": "only SAVE needs the master",
    "M2": "applying raises modseqs; all are told where ours was higher",
    "M3": "modseqs of expunged messages are kept and raised",
    "M4": "in the end everybody has the highest modseqs",
    "M5": "a client that comes from another node misses nothing",
    "M6": "EXPUNGE does not wait",
    "M7": "the origin of a late STORE is told the present flags",
    "M8": "a STORE by the master needs no more",
    "M9": "which of two STOREs stands",
    "M10": "STORE unchangedsince is compared under the LOCK",
    "R1": "answers, texts and what is said of mailboxes come over one connection",
    "R2": "a text goes to a file of the drop folder first",
    "R3": "the changes of a user are applied by one worker",
    "R4": "a command with a tag is answered after the commit",
    "L1": "existing mailboxes are brought together, UIDs that clash are settled",
    "L2": "mailboxes are made, renamed and deleted",
    "L3": "COPY, and texts that are fetched",
    "L4": "a message that is expunged while it is copied",
    "L5": "a transaction is one everywhere",
    "L6": "CHECK waits until all is everywhere",
    "L7": "the interface for stores in which a message is not a file",
    "L8": "checksums, and texts that are mended",
}
_NAME: Final = re.compile(r"test_([a-z]\d+)_")


def _named() -> Iterator[str]:
    """The requirements that tests name."""
    for path in python("tests"):
        if "mailbox" in shown(path):
            for node in ast.walk(ast.parse(path.read_text())):
                match = _NAME.match(node.name) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
                if match is not None:
                    yield match[1].upper()


def test_each_requirement_has_a_test() -> None:
    named = set(_named())
    assert named <= REQUIREMENTS.keys(), "a test names what is no requirement"
    assert REQUIREMENTS.keys() - named == set()
