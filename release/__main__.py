"""`python -m release OUT`: sdist and wheel of what is committed, twice, to the same bytes; checked, and with an SBOM.

It works on a clean clone, so nothing that is not committed gets in, and takes the time of the commit for all files. The
wheel is for the Python and the machine that run this: it has the compiled form where there is a C compiler.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from manual import man
from pyrepl import VERSION
from release.archive import repack, same_bytes

ROOT: Final = Path(__file__).resolve().parents[1]


class NotGood(Exception):
    """The release is not as it has to be; the text says why."""


def make(source: Path, out: Path) -> list[Path]:
    """Build both from a clean clone in `source`; the files, in `out`."""
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    call(["git", "clone", "-q", str(ROOT), str(source)])
    man.write(source / "man")
    epoch = int(said(["git", "-C", str(source), "log", "-1", "--format=%ct"]))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    call([sys.executable, "-m", "build", "--outdir", str(out), str(source)], environment)
    (sdist,) = out.glob("*.tar.gz")
    repack(sdist, epoch)
    return sorted(out.iterdir())


def why_wrong_tag(tags: list[str], changelog: str, fragments: list[str]) -> str | None:
    """What is wrong with a commit that has these tags, CHANGELOG.md and names in changelog.d; None if it has no tag."""
    if not tags:
        return None
    if f"v{VERSION}" not in tags:
        return f"the version is {VERSION}, and the tag {', '.join(tags)}"
    if re.search(rf"^## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE) is None:
        return f"CHANGELOG.md has no line '## {VERSION} (YEAR-MONTH-DAY)': make changelog"
    left = sorted(set(fragments) - {"README.md"})
    return f"changelog.d has {', '.join(left)}, which no release tells of: make changelog" if left else None


def bill_of_materials(wheel: Path, folder: Path, target: Path) -> None:
    """What an installation of the wheel consists of, as CycloneDX."""
    call([sys.executable, "-m", "venv", "--clear", str(folder)])
    call([str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", str(wheel)])
    call([sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "-o", str(target), str(folder)])


def call(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Raises NotGood when it fails."""
    if subprocess.run(command, env=environment, check=False).returncode:
        raise NotGood(f"failed: {' '.join(command)}")


def said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextmanager
def told(what: str) -> Iterator[None]:
    """A line when it is done, with how long it took; none if it failed."""
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.0f} s", flush=True)


def release(out: Path) -> None:
    """All of it. Raises NotGood."""
    tags = said(["git", "-C", str(ROOT), "tag", "--points-at", "HEAD"]).split()
    fragments = [path.name for path in (ROOT / "changelog.d").iterdir()]
    if wrong := why_wrong_tag(tags, (ROOT / "CHANGELOG.md").read_text(), fragments):
        raise NotGood(wrong)
    work = ROOT / "build" / "release"
    with told("built"):
        files = make(work / "source", out)
    with told("built again"):
        again = make(work / "source", work / "again")
    differing = [one.name for one, other in zip(files, again, strict=True) if not same_bytes(one, other)]
    if differing:
        raise NotGood(
            f"not the same bytes when built again: {', '.join(differing)}; compare {out} and {work / 'again'}"
        )
    call([sys.executable, "-m", "twine", "check", "--strict", *map(str, files)])
    (wheel,) = out.glob("*.whl")
    with told("installed, and its parts listed"):
        bill_of_materials(wheel, work / "venv", out / f"pyrepl_server-{VERSION}.cdx.json")
    print(*(f"{path} ({path.stat().st_size} bytes)" for path in sorted(out.iterdir())), sep="\n")


def main(out: str) -> int:
    try:
        with told(f"make dist of {VERSION}, built twice to the same bytes, checked"):
            release(Path(out).resolve())
    except NotGood as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
