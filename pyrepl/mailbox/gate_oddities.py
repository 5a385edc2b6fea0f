"""What a Dovecot may show in a mailbox, and other nodes cannot have: it is told to an operator.

Not here: what is done with the rest of what was found (gates.py), and what a look finds (the daemon's).
"""

from __future__ import annotations

from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.gate_states import Gate
from pyrepl.mailbox.rows import BoxRow


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
