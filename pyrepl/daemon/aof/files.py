"""The folder of an append-only file: manifest, places and leftovers on disk. What stands in them is `aof`'s.

A manifest and a place appear under their names whole or not at all: written beside, fsynced, renamed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self, final

from pyrepl.aof import manifest as manifests
from pyrepl.aof import place as places
from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.aof.naming import Names
from pyrepl.aof.place import Place
from pyrepl.config.settings import Settings
from pyrepl.daemon.disk.files import remove_leftovers, sync_directory
from pyrepl.errors import ConfigError, CorruptData
from pyrepl.temporary import create


@final
class AofFiles:
    """One folder. Methods raise OSError.

    Invariant: `manifest` is what is on disk, once it was read and taken over; before, it names nothing.
    """

    def __init__(self, folder: Path, stem: str) -> None:
        """`folder` absolute, as `dir` may change; it need not exist."""
        self.folder = folder
        self.names = Names(stem)
        self.manifest = Manifest()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The folder that the directives name, in the working directory."""
        return cls(Path(settings.appenddirname).absolute(), settings.appendfilename)

    @classmethod
    def opened(cls, settings: Settings) -> Self:
        """As `of`, with the manifest that is there, or an empty one. Raises ConfigError."""
        files = cls.of(settings)
        files.manifest = files.open_manifest() or Manifest()
        return files

    def path(self, name: str) -> Path:
        return self.folder / name

    def size(self, name: str) -> int:
        """Bytes; 0 for a file that is not there."""
        path = self.path(name)
        return path.stat().st_size if path.exists() else 0

    def read_manifest(self) -> Manifest | None:
        """None if there is none. Raises CorruptData."""
        path = self.path(self.names.manifest)
        return manifests.parse(path.read_bytes()) if path.exists() else None

    def open_manifest(self) -> Manifest | None:
        """The manifest; one for the old file if that is what there is; None if there is neither. Raises ConfigError."""
        old = Path(self.names.stem).absolute()
        try:
            manifest = self.read_manifest()
            if manifest is None:
                return self._adopt_old(old)
            self._finish_adoption(manifest, old)
            return manifest
        except (OSError, CorruptData) as error:
            raise ConfigError(
                f"Can't load the append only file by {self.path(self.names.manifest)}: {error}. The files were left "
                "as they are: mend the manifest, restore it from a backup, or move the folder away to start without it"
            ) from None

    def _adopt_old(self, path: Path) -> Manifest | None:
        """The one file of Redis before 7.0, if it is there: it becomes the base (`aofUpgradePrepare`)."""
        if not path.is_file():
            return None
        manifest = Manifest(base=Entry(path.name, 1, FileType.BASE))
        self.make_folder()
        self.write_manifest(manifest)
        self._finish_adoption(manifest, path)
        return manifest

    def _finish_adoption(self, manifest: Manifest, path: Path) -> None:
        """Bring the old file where the manifest has it; a crash may have come between the two."""
        base = manifest.base
        if base is not None and base.name == path.name and path.is_file() and not self.path(base.name).exists():
            path.rename(self.path(base.name))
            sync_directory(self.folder)
            sync_directory(path.parent)

    def make_folder(self) -> None:
        self.folder.mkdir(mode=0o755, exist_ok=True)

    def write_manifest(self, manifest: Manifest) -> None:
        self._write(self.names.manifest, manifests.render(manifest))

    def persist(self, base: Entry | None, incrs: tuple[Entry, ...]) -> None:
        """Name these files in the manifest, and remove those that it named before."""
        before = self.manifest
        place = (self.place_entry(incrs[-1]),) if incrs else ()
        after = Manifest(base, incrs, place)
        kept = {entry.name for entry in (*after.loaded, *place)}
        gone = tuple(entry for entry in (*before.loaded, *before.history) if entry.name not in kept)
        if gone:
            history = (*place, *(Entry(entry.name, entry.seq, FileType.HISTORY) for entry in gone))
            self.write_manifest(Manifest(base, incrs, history))
            self.manifest = Manifest(base, incrs, history)
            self.remove({entry.name for entry in gone})
        if self.manifest != after:
            self.write_manifest(after)
            self.manifest = after

    def read_place(self, incr: Entry) -> Place | None:
        path = self.path(self.names.place(incr.seq))
        place = places.parse(path.read_bytes()) if path.exists() else None
        return place if place is not None and place.file == incr.name else None

    def write_place(self, seq: int, place: Place) -> None:
        self._write(self.names.place(seq), places.render(place))

    def place_entry(self, incr: Entry) -> Entry:
        """How the manifest speaks of an incr's place (place.py says why)."""
        return Entry(self.names.place(incr.seq), incr.seq, FileType.HISTORY)

    def remove(self, names: set[str]) -> None:
        for name in names:
            self.path(name).unlink(missing_ok=True)

    def remove_leftovers(self, manifest: Manifest) -> None:
        """Unlink what a crash left; where that cannot be done, it stays."""
        with suppress(OSError):
            remove_leftovers(self.folder)
            self._remove_unfinished(manifest)

    def _remove_unfinished(self, manifest: Manifest) -> None:
        """What a crash left of files in the making: those that the next rewrite would make under the same names, and
        places that belong to no incr. Without a manifest nothing is known to be in the making."""
        if not manifest.loaded or not self.folder.is_dir():
            return
        named = {entry.name for entry in (*manifest.loaded, *manifest.history)}
        for path in self.folder.iterdir():
            if path.name not in named and self.names.is_in_the_making(path.name, manifest):
                path.unlink(missing_ok=True)

    def _write(self, name: str, text: bytes) -> None:
        fresh = self.path(f"temp-{name}")
        try:
            with create(fresh) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(self.path(name))
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        sync_directory(self.folder)
