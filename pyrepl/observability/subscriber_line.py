"""What INFO and ACL LOG show of a subscriber of the stream port."""

from __future__ import annotations

from typing import Final

from pyrepl.node.streams import Subscriber
from pyrepl.words import to_text

_UNSAFE: Final = str.maketrans(",=:\r\n ", "______")


def subscriber_fields(one: Subscriber, now: float) -> list[str]:
    """Each as `name=value`, with nothing in a value that separates fields; `now` is monotonic seconds."""
    subscription = one.subscription
    user = to_text(subscription.rights.user.name)
    return [
        f"id={one.id}",
        f"addr={one.addr}",
        f"name={subscription.name.translate(_UNSAFE)}",
        f"user={user.translate(_UNSAFE)}",
        f"age={max(0, int(now - one.since))}",
        f"rows={subscription.rows_sent}",
        f"lines_in={subscription.lines_received}",
        f"output_bytes={subscription.unsent_bytes}",
    ]
