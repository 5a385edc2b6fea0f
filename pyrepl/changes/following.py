"""One stream that a subscriber follows: how far it is, and whether its rows come live or are fetched.

Not here: what is sent (subscription.py), where rows come from (the shell).
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.machines import Table


class FollowingState(enum.StrEnum):
    """How the next rows come."""

    BEHIND = "behind"
    """The next rows are to be asked for, as soon as fewer bytes wait to be sent to the subscriber."""
    ASKED = "asked"
    LIVE = "live"


class FollowingTrigger(enum.StrEnum):
    """What moves it on."""

    ASK = "ask"
    ROWS = "rows"
    HEAD = "head"
    """The rows that came reach the head of the stream: there are no more to fetch."""
    GAP = "gap"
    """Live rows do not begin where the subscriber is, or there are none any more."""
    NEW_NAME = "new_name"
    """The writer has another name: what was asked for under the old one is not answered."""


_S = FollowingState
_T = FollowingTrigger
FOLLOWING: Final = Table(
    "A stream that a subscriber follows",
    (_S.BEHIND,),
    {
        (_S.BEHIND, _T.ASK): _S.ASKED,
        (_S.BEHIND, _T.ROWS): _S.BEHIND,
        (_S.ASKED, _T.ROWS): _S.BEHIND,
        (_S.BEHIND, _T.HEAD): _S.LIVE,
        (_S.LIVE, _T.GAP): _S.BEHIND,
        (_S.BEHIND, _T.NEW_NAME): _S.BEHIND,
        (_S.ASKED, _T.NEW_NAME): _S.BEHIND,
        (_S.LIVE, _T.NEW_NAME): _S.LIVE,
    },
    where=" of a stream",
)


@final
class Following:
    """`at` is where the subscriber is. Places are what the stream counts in, offsets or ids."""

    __slots__ = ("at", "named", "since", "state", "told")

    def __init__(self, at: int, *, named: bool) -> None:
        """`named`: its lines name the writer."""
        self.at = at
        self.told = at
        """The place of the last RDATA or POSITION sent."""
        self.since = at
        """Where the subscription, or the catching up, began."""
        self.named = named
        self.state = FollowingState.BEHIND

    @property
    def is_live(self) -> bool:
        return self.state is FollowingState.LIVE

    @property
    def is_asked(self) -> bool:
        """Are rows wanted that did not come yet?"""
        return self.state is FollowingState.ASKED

    @property
    def may_ask(self) -> bool:
        return self.state is FollowingState.BEHIND

    def ask(self) -> None:
        """Rows are asked for."""
        self._move(FollowingTrigger.ASK)

    def took_rows(self) -> None:
        """Rows came that begin where the subscriber is."""
        self._move(FollowingTrigger.ROWS)

    def reached_head(self) -> None:
        """There are no more rows to fetch."""
        self._move(FollowingTrigger.HEAD)

    def fell_behind(self) -> None:
        """The subscriber is not fed live any more: rows are fetched from the place where it is."""
        self._move(FollowingTrigger.GAP)
        self.since = self.at

    def renamed(self) -> None:
        """The stream's writer has another name from now on."""
        self._move(FollowingTrigger.NEW_NAME)

    def _move(self, trigger: FollowingTrigger) -> None:
        self.state = FOLLOWING.after(self.state, trigger)
