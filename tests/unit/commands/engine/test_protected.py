"""Commands that a directive allows to nobody, to anybody, or to clients on this machine."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig


@pytest.mark.parametrize(
    ("allowed", "near", "far"), [("no", False, False), ("yes", True, True), ("local", True, False)]
)
@pytest.mark.parametrize("name", ["debug", "module"])
def test_who_may(name: str, allowed: str, near: bool, far: bool) -> None:
    rig = Rig(**{f"enable_{name}_command": allowed})
    for addr, may in (("127.0.0.1:1", near), ("10.0.0.1:1", far)):
        line = "DEBUG DIGEST" if name == "debug" else "MODULE UNLOAD x"
        said = rig.wire(line, rig.connect(addr)).decode()
        refused = said.startswith(
            f'-ERR {name.upper()} command not allowed. If the enable-{name}-command option is set to "local", you can'
        )
        assert refused is not may, said
