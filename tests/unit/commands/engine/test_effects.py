"""Effects: records that nothing can change on their way to the daemon."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.effect import Effect

KINDS = [
    kind
    for kind in vars(effects).values()
    if isinstance(kind, type) and issubclass(kind, Effect) and kind is not Effect
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_effect_says_what_reply_is_owed(kind: type[Effect]) -> None:
    text = kind.__doc__ or ""
    assert any(word in text for word in ("OK", "ERR", "+", "integer", "answers", "reply", "NO_REPLY"))


def test_effects_are_values() -> None:
    assert effects.Wait(1, 5) == effects.Wait(1, 5) != effects.Wait(2, 5)
    with pytest.raises(AttributeError, match="does not change"):
        effects.Wait(1, 5).replicas = 3  # type: ignore[misc]


def test_shutdown_defaults_to_the_careful_form() -> None:
    shutdown = effects.Shutdown()
    assert (shutdown.mode, shutdown.now, shutdown.force) == (effects.SaveMode.DEFAULT, False, False)
