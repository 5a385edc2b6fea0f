"""The folder of an append-only file on disk: reads and writes its manifest and its place files, removes leftovers.

The room `aof` knows what stands in these files; `keeper` and `tail` decide when they change. A crash never leaves half
a manifest or half a place: each is written under a temporary name, fsynced, and then renamed.
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
    """One folder. Every method that touches the disk raises OSError.

    Invariant: `manifest` is equal to the manifest on disk, once its owner has read that and set it here; before, it
    names no files.
    """

    def __init__(self, folder: Path, stem: str) -> None:
        """`folder` is absolute, as the working directory may change (`dir`); it need not exist. `stem` is the name that
        all files begin with (appendfilename)."""
        self.folder = folder
        self.names = Names(stem)
        self.manifest = Manifest()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The folder that the directives name, in the working directory."""
        return cls(Path(settings.appenddirname).absolute(), settings.appendfilename)

    @classmethod
    def opened(cls, settings: Settings) -> Self:
        """As `of`, with the manifest on disk, or an empty one if there is none. Raises ConfigError."""
        files = cls.of(settings)
        files.manifest = files.open_manifest() or Manifest()
        return files

    def path(self, name: str) -> Path:
        return self.folder / name

    def size(self, name: str) -> int:
        """The size of a file in bytes; 0 for a file that does not exist."""
        path = self.path(name)
        return path.stat().st_size if path.exists() else 0

    def read_manifest(self) -> Manifest | None:
        """The manifest on disk, None if there is none. Raises CorruptData."""
        path = self.path(self.names.manifest)
        return manifests.parse(path.read_bytes()) if path.exists() else None

    def open_manifest(self) -> Manifest | None:
        """The manifest on disk. If there is none but the single file of a Redis before 7.0, a manifest is written for
        that file. None if there is neither. Raises ConfigError for files that cannot be read."""
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
        """Make the single file of a Redis before 7.0, at `path`, the base of a new manifest (`aofUpgradePrepare`).
        None if there is no such file."""
        if not path.is_file():
            return None
        manifest = Manifest(base=Entry(path.name, 1, FileType.BASE))
        self.make_folder()
        self.write_manifest(manifest)
        self._finish_adoption(manifest, path)
        return manifest

    def _finish_adoption(self, manifest: Manifest, path: Path) -> None:
        """Move the old file at `path` into the folder, where the manifest has it. A crash may have come after the
        manifest was written and before this, so each start looks whether the move is still to be done."""
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
        """Name these files in the manifest, and remove the files that only the manifest before named.

        If files go, the manifest is written twice: first it names them as history, so that after a crash a later start
        knows them as ours to remove; then they are unlinked; then it forgets them.
        """
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
        """The place noted for `incr`; None if there is none, or if it speaks of another file."""
        path = self.path(self.names.place(incr.seq))
        place = places.parse(path.read_bytes()) if path.exists() else None
        return place if place is not None and place.file == incr.name else None

    def write_place(self, seq: int, place: Place) -> None:
        self._write(self.names.place(seq), places.render(place))

    def place_entry(self, incr: Entry) -> Entry:
        """The entry that stands for an incr's place file in the manifest (aof/place.py says why)."""
        return Entry(self.names.place(incr.seq), incr.seq, FileType.HISTORY)

    def remove(self, names: set[str]) -> None:
        for name in names:
            self.path(name).unlink(missing_ok=True)

    def remove_leftovers(self, manifest: Manifest) -> None:
        """Unlink the files that a crash has left behind. Files that cannot be unlinked stay, and do no harm."""
        with suppress(OSError):
            remove_leftovers(self.folder)
            self._remove_unfinished(manifest)

    def _remove_unfinished(self, manifest: Manifest) -> None:
        """Unlink files that a rewrite had not finished when the node crashed: files whose names the next rewrite would
        use, and places that belong to no incr. Without a manifest we cannot tell which files are unfinished, so
        nothing is unlinked."""
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
