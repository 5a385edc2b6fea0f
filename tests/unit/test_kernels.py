"""Which form runs, and that a compiled form does not outlive its sources."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pyrepl import kernels


def compiled(package: Path, sources: dict[str, bytes]) -> None:
    """Leave what a build leaves."""
    for name, text in sources.items():
        (package / name).write_bytes(text)
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in sources.items()}
    (package / kernels.RECORD).write_text(json.dumps(digests))


class TestStaleSources:
    def test_as_built(self, tmp_path: Path) -> None:
        compiled(tmp_path, {"a.py": b"x = 1\n", "b.py": b""})
        assert kernels.stale_sources(tmp_path) == []

    def test_changed_since(self, tmp_path: Path) -> None:
        compiled(tmp_path, {"a.py": b"x = 1\n", "b.py": b""})
        (tmp_path / "a.py").write_bytes(b"x = 2\n")
        assert kernels.stale_sources(tmp_path) == ["a.py"]

    def test_source_gone(self, tmp_path: Path) -> None:
        compiled(tmp_path, {"a.py": b"x = 1\n"})
        (tmp_path / "a.py").unlink()
        assert kernels.stale_sources(tmp_path) == ["a.py"]

    def test_nothing_compiled(self, tmp_path: Path) -> None:
        assert kernels.stale_sources(tmp_path) == []


def test_the_complaint_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "stale_sources", lambda package: ["resp/parser.py"])
    complaint = kernels.why_not_fresh()
    assert complaint is not None
    assert "resp/parser.py" in complaint and "make build" in complaint


def test_form_is_that_of_the_modules() -> None:
    from pyrepl.resp import parser

    assert kernels.form() == (kernels.PURE if parser.__file__.endswith(".py") else kernels.COMPILED)
