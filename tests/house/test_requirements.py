"""Each requirement of the mailboxes has a test that names it: `test_t6_..` is about T6.

The requirements are those of the design note from which the mailboxes were made. What stands in quotes are its own
words; T2 and T10 are questions that it left open. Not here: what the tests say, and what was decided otherwise.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.house.source import python, shown

REQUIREMENTS: Final = {
    "P1": (
        "modseqs are allocated in the cluster, not from a log file's position: a record \"UIDs [..] have "
        'modseq X", UID list empty to raise the highest modseq'
    ),
    "P2": (
        'optimistic: a change without a stated modseq has the one after the change before it ("the next '
        'transaction after modseq=5 record will have modseq=6")'
    ),
    "P3": "one replication process reads and writes all users' mailboxes",
    "S1": "mail processes connect over a UNIX socket, or TCP optionally for chroots; they send SAVE, EXPUNGE, STORE",
    "S2": (
        "sender and receiver are distinct, over one TCP connection between two nodes: one writes it, the other reads it"
    ),
    "S3": "a master tracker, separate, which sender and receiver talk to",
    "S4": "replies (SAVE; STORE with CONDSTORE) go remote -> receiver -> sender -> the mail process that asked",
    "S5": "tags: a command with a tag is answered, with `*` it is not",
    "T1": (
        "LOCK user mailbox: at once if we are the master; else find out who is (cache), REQUEST it, answer "
        "when GIVE comes. Sent by who wants to assign UIDs"
    ),
    "T2": '"handle timeouts (and master disconnections) somehow?"',
    "T3": "UNLOCK, no reply. The last one lets pending TAKEs proceed",
    "T4": "GIVE, no reply: we are the master now; waiting LOCKs are answered",
    "T5": (
        "TAKE user mailbox server, no reply: when no lock is held, hand the mastership to that server and "
        'cache it as the master. While waiting, new LOCKs wait ("to avoid lock starvation")'
    ),
    "T6": (
        "not the master any more, or several TAKEs pending: the first gets it, the others go on as REQUEST to "
        "the new one"
    ),
    "T7": (
        "REQUEST user mailbox assumed-master wanted-by: if wanted-by is not us, cache it as the master. No "
        "idea who: the root"
    ),
    "T8": (
        "ROOT-SET server: drop all cached masters; delay new LOCKs; when all mailboxes are unlocked, drop all "
        "mastership, send ROOT-CLEAR; the server is the root"
    ),
    "T9": (
        "ROOT-CLEAR server: forwarded to the root if we are not it; at the root the last pending one starts "
        "pending REQUESTs and LOCKs"
    ),
    "T10": '"How is initial root selection done? How is it decided who\'s the new one when previous one dies?"',
    "V1": "LOCK, assign UIDs, SAVE..., UNLOCK; the lock is held as short as possible (the commit)",
    "V2": (
        "several processes hold LOCK on one mailbox at once; their SAVEs may arrive out of UID order; the "
        "sender orders them"
    ),
    "V3": (
        "locks carry prev_uid, the UID of the last SAVE seen before the LOCK; a SAVE depends on all open "
        "locks with prev_uid below its UID; later SAVEs of the same client before its UNLOCK have the same "
        "dependency"
    ),
    "V4": (
        "when a SAVE's dependencies are gone, it goes out, lowest UID first; the note's example (uids 3, 5, "
        "then 7, 9) is a test, word for word"
    ),
    "V5": "a single lock holder: its SAVEs go out as they arrive",
    "V6": (
        "weak locks: dropped after the client's first SAVE; from then on merge by reading each client's next "
        "SAVE and sending the smaller UID, so that two clients with 10,000 messages each need no buffering"
    ),
    "V7": 'it never waits for the lock count to reach zero ("under very high load" it may never)',
    "V8": "synchronous mode: SAVE has a tag, the mail process waits for one ack for each SAVE and ignores further ones",
    "V9": (
        "later in the note: SAVE without being master; UNCHANGEDSINCE without being master (untrusted, "
        "user-run processes)"
    ),
    "M1": "only SAVE needs the master; STORE and EXPUNGE do not",
    "M2": (
        "every change carries its modseq; applying raises ours to at least that; if ours was higher, "
        "broadcast MODSEQ with ours; a MODSEQ only ever raises"
    ),
    "M3": "modseqs of expunged messages are kept and raised too",
    "M4": (
        "in the end everyone has the highest modseq assigned to a change; seeing lower ones for a while costs "
        "at most extra FETCHes"
    ),
    "M5": "a client that jumps to a node which lags: a cluster-wide sync before such commands",
    "M6": "EXPUNGE is replicated without waiting",
    "M7": (
        "STORE at the master: apply, forward with possibly raised modseqs; messages that had higher modseqs "
        "than the STORE's: their present flags go back to the origin"
    ),
    "M8": "STORE by the master: no desync possible",
    "M9": 'possible improvement: "highest modseq of messages before this STORE"',
    "M10": "STORE UNCHANGEDSINCE takes the master lock; simultaneous plain STORES elsewhere end up on top of it",
    "R1": "three kinds of input: replies, message texts, metadata",
    "R2": (
        "the text goes to a file first, on the right partition, as-is for Maildir, later hard linked into the "
        "mailbox; a separate drop folder rather than the mailbox's tmp/; its path becomes metadata of the "
        "SAVE"
    ),
    "R3": (
        "the receiver reads as fast as it can, workers apply; the same user's changes go to the same worker; "
        "a worker keeps at most some 100 mailboxes open"
    ),
    "R4": "tagged commands are answered after the commit; a failed change is answered as failed, back to the origin",
    "L1": "synchronisation of existing mailboxes, UID conflict resolution",
    "L2": "creates, deletes, renames; a global mailbox id that survives a rename",
    "L3": (
        "GUIDs for messages (in dovecot-uidlist), tracked globally; COPY; SAVE with a GUID only, FETCH for unknown ones"
    ),
    "L4": "messages expunged while a COPY is under way",
    "L5": "TX-BEGIN, TX-END: the origin's transaction is one transaction at the receiver, by one worker",
    "L6": "cluster-wide sync: a ping through receiver and workers; CHECK; QRESYNC perhaps",
    "L7": "dbox: text is not just a file, no hard links between mailboxes",
    "L8": "message checksums, one per 64 KB; on a mismatch log, fetch from another node, mend the file",
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
