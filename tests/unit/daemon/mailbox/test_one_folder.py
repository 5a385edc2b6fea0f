"""A folder that was renamed is another one, whatever lies at its path then."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox.one_folder import OneFolder, OtherBox
from tests.unit.daemon.mailbox.model_disk import ModelDisk


def test_a_folder_that_was_renamed_is_another_one() -> None:
    disk = ModelDisk()
    disk.make_folders(b"/box/cur")
    disk.make_folders(b"/new")
    folder = OneFolder(disk, b"/box")
    folder.begin()
    disk.write_new(b"/box/cur/file", b"")
    folder.check()
    disk.rename(b"/box", b"/old")
    with pytest.raises(OtherBox, match="/box holds another mailbox"):
        folder.check()
    disk.rename(b"/new", b"/box")
    with pytest.raises(OtherBox):
        folder.check()
    folder.begin()
    folder.check()
