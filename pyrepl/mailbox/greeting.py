"""HELLO and AUTH: who is at the other end, and whether it knows the secret (`mailbox-secret`).

Each end sends a HELLO with a nonce, then the HMAC-SHA256, under the secret, of both HELLOs as they were said and of who
made the connection. So the secret is never sent, a proof is of no use on another connection, an end cannot be answered
with its own proof, and nobody between the two can change a HELLO. The end that was called proves itself second: who
does not know the secret gets nothing from it that could be tried against passwords.

Not here: when these lines come (talk_states.py), and what is sent afterwards, which is not protected: TLS or a tunnel
has to do that.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, final

from pyrepl.acl.passwords import hashed, is_one_of
from pyrepl.errors import PeerError
from pyrepl.mailbox.verbs import Auth, Hello

PROTO: Final = 1
"""The version that is spoken here. HELLO states the newest that an end speaks; the older of both is used."""
NONCE_CHARS: Final = 32
"""Of a nonce, at least: hexadecimal digits of 16 random bytes."""
_LABEL: Final = "pyrepl mailbox"


@final
class Greeting:
    """Both HELLOs of one connection, as one end knows them."""

    def __init__(self, mine: Hello, secret: bytes, *, calls: bool) -> None:
        """`mine` has a nonce that was never used before. `calls`: this end made the connection."""
        assert len(mine.nonce) >= NONCE_CHARS and secret
        self.mine: Final = mine
        self.theirs: Hello | None = None
        self._secret: Final = secret
        self._calls: Final = calls

    def hear(self, theirs: Hello) -> None:
        """The other end's HELLO. Raises PeerError for one that cannot be greeted."""
        if theirs.proto < PROTO:
            raise PeerError(f"expected proto={PROTO} or later, got proto={theirs.proto}")
        if len(theirs.nonce) < NONCE_CHARS:
            raise PeerError(f"expected a nonce of {NONCE_CHARS} characters or more, got {len(theirs.nonce)}")
        if theirs.nonce == self.mine.nonce:
            raise PeerError("expected a nonce of the other end's own, got ours")
        self.theirs = theirs

    def proof(self) -> Auth:
        """That we know the secret; the other end's HELLO has come."""
        assert self.theirs is not None
        return Auth(mac=self._mac(self.mine, self.theirs, self._calls))

    def check(self, auth: Auth) -> None:
        """Raises PeerError unless the other end knows the secret."""
        assert self.theirs is not None
        expected = self._mac(self.theirs, self.mine, not self._calls)
        if not is_one_of(auth.mac.encode(), [hashed(expected.encode())]):
            raise PeerError("the other end does not know our mailbox-secret: it must be the same on both")

    def _mac(self, speaker: Hello, hearer: Hello, calls: bool) -> str:
        """Of who speaks, whom it speaks to, and which of them made the connection. No word has a line end in it."""
        said = [_LABEL, "calls" if calls else "is called", " ".join(speaker.words()), " ".join(hearer.words())]
        return hmac.new(self._secret, "\n".join(said).encode(), hashlib.sha256).hexdigest()
