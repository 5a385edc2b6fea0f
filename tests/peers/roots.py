"""Roots of other releases of Debian, and of Ubuntu, in folders, as bare as debootstrap makes them, and entering them.

Debian's packages come from the mirror that this machine uses, Ubuntu's from where debootstrap knows them. Only root can
make a root and enter it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.peers import debian

_ENTER: Final = """
root=$1
shift
mount --bind "$root" "$root"
[ "$1" = -- ] || mount -t tmpfs tmpfs "$root/tmp"
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    shift
done
shift
cd "$root"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mkdir -p left
pivot_root . left
umount -l /left
exec "$@"
"""
"""It becomes the root, and not by chroot, in which the kernel gives no user namespaces; tests of Dovecot need them."""


class Suite(NamedTuple):
    """A release as debootstrap calls it, what of its archive is used, and the file of its keys, if not Debian's own."""

    name: str
    components: str = "main"
    keys: str = ""
    like: str = ""
    """An older release that debootstrap knows, to be made by its rules."""


SUITES: Final = {
    suite.name: suite
    for suite in (
        Suite("bookworm"),
        Suite("trixie"),
        Suite("noble", "main,universe", "ubuntu-archive-keyring.gpg", "jammy"),
    )
}
"""Debian 12 and 13, Ubuntu 24.04 LTS."""
UBUNTU_KEYS: Final = "ubuntu-keyring"
"""Debian's package that has them."""


class CannotBeMade(debian.PeerMissing):
    """A root could not be made; the text says why."""


def base(suite: Suite, folder: Path, packages: Sequence[str]) -> Path:
    """The root of that suite, made once with these packages and kept below `folder`. Raises PeerMissing."""
    done, making = folder / f"{suite.name}.root", folder / f"{suite.name}.making"
    if done.exists():
        return done
    if os.geteuid() != 0:
        raise CannotBeMade("only root can make roots of Debian: run it as root")
    debian.install(["debootstrap"])
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(making, ignore_errors=True)
    print(f"making a root of {suite.name}", file=sys.stderr, flush=True)
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(packages)}",
        f"--components={suite.components}",
    ]
    if suite.keys:
        debian.unpack([UBUNTU_KEYS], "trixie", folder / "keys")
        command += [f"--keyring={folder}/keys/usr/share/keyrings/{suite.keys}", suite.name, str(making), "", suite.like]
    else:
        command += [suite.name, str(making), mirror()]
    made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode:
        raise CannotBeMade(f"debootstrap cannot make {suite.name}: {made.stdout.strip().splitlines()[-1]}")
    making.rename(done)
    return done


def mirror() -> str:
    """Where this machine gets its own packages from, as apt says. Raises CannotBeMade."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Origin: Debian"]
    sites = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    site = next((site for site in sites if not site.rstrip("/").endswith("-security")), None)
    if site is None:
        raise CannotBeMade("apt names no mirror of Debian on this machine: apt-get update")
    return site


def entering(root: Path, folders: Sequence[Path] = ()) -> list[str]:
    """What stands before a command that is to have `root` as its root, and these of this machine's folders in place.

    With folders its /tmp is empty but for them, and gone with the command.
    """
    return ["unshare", "--mount", "bash", "-euc", _ENTER, "bash", str(root), *map(str, folders), "--"]
