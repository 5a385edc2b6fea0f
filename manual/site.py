"""`python -m manual.site OUT` gathers the pages of the site: README, docs/ and the reference. MkDocs does the rest.

A link to a file that is no page of the site (a module, a configuration) becomes its path in the sources. Pictures stand
in docs/images and keep their place.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Final

from manual import command_line, reference
from manual.markdown import of_site

ROOT: Final = Path(__file__).resolve().parents[1]
TOP: Final = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"} | {
    "CONTRIBUTING.md": "contributing.md",
    "bench/RESULTS.md": "figures.md",
}
"""Pages from outside docs/, and what they are called on the site."""
PICTURES: Final = "docs/images"
STYLE: Final = ".md-typeset td code { word-break: normal; }\n"
"""What the theme does otherwise: names are not broken in the middle, however narrow their column is."""
_LINK: Final = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)")


def pages() -> dict[str, str]:
    """Path on the site -> Markdown."""
    sources = TOP | {
        str(path.relative_to(ROOT)): str(path.relative_to(ROOT / "docs"))
        for path in sorted((ROOT / "docs").rglob("*.md"))
    }
    places = sources | {str(path.relative_to(ROOT)): path.relative_to(ROOT / "docs").as_posix() for path in pictures()}
    found = {place: of_site(relinked((ROOT / source).read_text(), source, places)) for source, place in sources.items()}
    for name, make in reference.PAGES.items():
        found[name] = make()
    found["command-line.md"] = command_line.markdown()
    return found


def pictures() -> list[Path]:
    """What pages show."""
    return sorted((ROOT / PICTURES).iterdir())


def relinked(text: str, source: str, places: dict[str, str]) -> str:
    """`text` of the file `source` with its links as they must be on the site, where files stand at `places`."""
    folder, here = PurePosixPath(source).parent, PurePosixPath(places[source]).parent

    def link(match: re.Match[str]) -> str:
        words, target, anchor = match[1], normpath(str(folder / match[2])), match[3] or ""
        place = places.get(target) or places.get(f"{target}/README.md")
        if place is None:
            return words if words.startswith("`") or words == target else f"{words} (`{target}`)"
        return f"[{words}]({relpath(place, str(here))}{anchor})"

    return _LINK.sub(link, text)


def write(folder: Path) -> None:
    """All pages, pictures and the style below `folder`."""
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copytree(ROOT / PICTURES, folder / Path(PICTURES).name)
    (folder / "style.css").write_text(STYLE)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
