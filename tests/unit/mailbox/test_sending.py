"""What is sent has no tag unless an answer is wanted."""

from __future__ import annotations

from pyrepl.mailbox.sending import Send
from pyrepl.mailbox.verbs import Ping


def test_without_a_tag_no_answer_is_wanted() -> None:
    assert Send("b", Ping()) == Send("b", Ping(), "*", None)
