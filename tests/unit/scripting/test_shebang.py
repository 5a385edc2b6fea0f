"""First lines of scripts."""

from __future__ import annotations

import pytest

from pyrepl.scripting.shebang import ALLOW_OOM, COMPATIBLE, NO_WRITES, Script, ShebangError, read_script


def test_scripts() -> None:
    assert read_script(b"return 1") == Script(b"return 1", COMPATIBLE)
    assert read_script(b"#!lua\nreturn 1") == Script(b"\nreturn 1", 0)
    assert read_script(b"#!lua flags=no-writes,allow-oom\nx").flags == NO_WRITES | ALLOW_OOM
    assert read_script(b"#!lua flags=\nx").flags == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"#!lua", "Invalid script shebang"),
        (b"#!js\n", "Unexpected engine in script shebang: #!js"),
        (b"#!lua name=x\n", "Unknown lua shebang option: name=x"),
        (b"#!lua flags=x\n", "Unexpected flag in script shebang: x"),
        (b'#!lua "\n', "Invalid engine in script shebang"),
    ],
)
def test_first_lines_that_cannot_be_read(text: bytes, said: str) -> None:
    with pytest.raises(ShebangError) as error:
        read_script(text)
    assert str(error.value) == said
