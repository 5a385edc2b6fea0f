"""What an analysis needs: Java, and which."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.analysis.needs import java, java_version, why_no_delta, why_not


def fake_java(folder: Path, told: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("told", "version"),
    [('openjdk version "17.0.2" 2022-01-18', 17), ('java version "1.8.0_292"', 8), ("something else", 0)],
)
def test_javas_version(tmp_path: Path, told: str, version: int) -> None:
    assert java_version(str(fake_java(tmp_path, told))) == version
    assert java_version(str(tmp_path / "none")) == 0


def test_java_home_comes_first_and_may_be_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java() == "" and "there is none here" in why_not()
    program = fake_java(tmp_path, 'openjdk version "21"')
    assert java() == str(program) and why_not() == ""


def test_what_delta_lake_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_no_delta() == ""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert why_no_delta() == (
        "--delta needs deltalake, which is missing here. Install it: pip install 'pyrepl-server[delta]'"
    )
