"""Each effect has exactly one deed, in every kind of node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.effect import Effect
from pyrepl.daemon.performer import Performer
from pyrepl.resp.reply import OK
from tests.peers.ports import free_port
from tests.unit.daemon.rig import RunningNode, in_loop


@pytest.mark.parametrize("with_streams", [False, True])
def test_every_effect_has_its_deed(tmp_path: Path, with_streams: bool) -> None:
    """That none has two is looked after by `learn`, which a node could not be made without."""
    declared = {kind for kind in vars(effects).values() if isinstance(kind, type) and issubclass(kind, Effect)}

    @in_loop
    async def run() -> None:
        node = RunningNode(tmp_path, stream_port=free_port() if with_streams else 0)
        assert node.app.performer.known == declared - {Effect}

    run()
    assert len(declared) > 25


def test_a_second_deed_is_refused() -> None:
    performer = Performer()

    def deed(call: Any, effect: Any) -> Any:
        return OK

    performer.learn({effects.Save: deed}, {effects.BgSave: deed})
    with pytest.raises(ValueError, match="a second deed for BgSave"):
        performer.learn({effects.Flushed: deed, effects.BgSave: deed})
    call: Any = None
    assert performer.perform(call, effects.Save()) is OK
