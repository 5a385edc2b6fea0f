"""What a Dovecot may show in a mailbox, and other nodes cannot have, or not at once: it is told to an operator.

Not here: what is done with the rest of what was found (gates.py), and what a look finds (the daemon's).
"""

from __future__ import annotations

from pyrepl.mailbox.compare import Difference, FoundBox
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.gate_states import Gate
from pyrepl.mailbox.rows import BoxRow


def tell_differences(core: Core, gate: Gate, box: BoxRow, differs: Difference) -> None:
    """Missing messages that do not count as expunged, once for each number of them, and messages with new UIDs."""
    if differs.missing and differs.missing != gate.missing:
        core.note("expunge_guard", f"{box.user} {box.name} {differs.missing}")
    gate.missing = differs.missing
    if differs.again:
        core.note("uids_anew", f"{box.user} {box.name} {differs.again}")


def tell_odd(core: Core, gate: Gate, box: BoxRow, found: FoundBox) -> None:
    """Files that are no mail, or whose names nobody can be told, and keywords that are on this node alone. Each file is
    told once, as long as it is there."""
    odd: frozenset[str] = frozenset()
    for name, which in (("mail_unreadable", found.unread.values()), ("mail_nameless", found.nameless)):
        new = sorted(set(which) - gate.odd)
        more = f" and {len(new) - 1} more" if len(new) > 1 else ""
        if new:
            core.note(name, f"{box.user} {box.name} {new[0]}{more}")
        odd |= frozenset(which)
    gate.odd = odd
    if found.has_own_keywords:
        core.note_keywords(box.user, box.guid)


def tell_failed(core: Core, gate: Gate, box: BoxRow, why: str, *, has_lock_files: bool) -> None:
    """Once, as it is tried again and again. A gate without a lock file keeps nobody from anything."""
    if why != gate.why:
        core.note(_failed(has_lock_files), f"{box.user} {box.name}: {why}")
    gate.why = why


def trouble(gate: Gate, *, has_lock_files: bool) -> str:
    """What of it lasts, with the word first."""
    if gate.why:
        return f"{_failed(has_lock_files)} {gate.why}"
    return f"expunge_guard {gate.missing} messages are missing"


def _failed(has_lock_files: bool) -> str:
    return "gate_failed" if has_lock_files else "look_failed"
