"""A Dovecot of a test's own (finder.py has the program), on free ports, in a folder that goes with it.

It runs as the user of the test. A root's test has it run by `nobody`, since Dovecot reads no mail of root's; whoever
writes its Maildirs must then be `nobody` too: `as_owner()`. With `is_ours` root's files are what it sees as those of
`nobody`, in a user namespace, so that any process of the test may write there. Ended with the `with` by its process id,
and its children with it.
"""

from __future__ import annotations

import codecs
import grp
import imaplib
import os
import poplib
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.peers import finder
from tests.peers.lab import LabError, die_with_parent, wait_until
from tests.peers.ports import HOST, free_port
from tests.peers.roots import entering

PASSWORD: Final = "secret"
_STOP_S: Final = 20
_LATE_IMPORTS: Final = ("ascii", "latin-1", "utf-16-be")
"""Python imports an encoding when it is first used, from a folder that may be root's alone."""


def owner() -> pwd.struct_passwd:
    """Who runs it and owns its mail."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


@contextmanager
def as_owner() -> Iterator[None]:
    """Be this user meanwhile, for whatever is done with files."""
    if os.geteuid() != 0:
        yield
        return
    for encoding in _LATE_IMPORTS:
        codecs.lookup(encoding)
    user = owner()
    os.setegid(user.pw_gid)
    os.seteuid(user.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class Dovecot:
    """One running server. `mail(user)` is the Maildir of a user. This machine's own version speaks POP3 too."""

    def __init__(
        self,
        users: Sequence[str] = ("alice",),
        layout: str = "maildir++",
        settings: str = "",
        *,
        is_ours: bool = False,
        version: str = "",
        driver: str = "maildir",
    ) -> None:
        """`settings` are lines of its configuration besides. `is_ours`: the Maildirs belong to the test's own user.
        `driver`: the format in which 2.4 keeps mail.

        `version` is "2.3" or "2.4", none for this machine's own; another than that is for root, with `is_ours`.
        """
        self.imap_port, self.lmtp_port, self.pop3_port = free_port(), free_port(), free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="pyrepl-dovecot-"))
        self.maildirs = self.folder / "mail"
        self._users = tuple(users)
        self.layout = layout
        self.driver = driver
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = owner()
        self._is_mapped = is_ours and os.geteuid() == 0
        own = finder.version(finder.DOVECOT)[:3]
        self.version = version or own
        self._root = finder.dovecot_root(version) if self.version != own else None
        assert self._root is None or self._is_mapped

    def __enter__(self) -> Self:
        try:
            self._make_files()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def mail(self, user: str = "alice") -> Path:
        """The user's folder."""
        return self.maildirs / user

    @property
    def conf(self) -> Path:
        """Its configuration."""
        return self.folder / "conf"

    def inside(self, *command: str) -> list[str]:
        """A command as one that sees what the server sees, run by the user of the test."""
        found = [*command]
        if self._is_mapped:
            ids = f"--map-user={self._owner.pw_uid}", f"--map-group={self._owner.pw_gid}"
            found = ["unshare", "--user", *ids, "--", *found]
        if self._root is not None:
            found = [*entering(self._root, [self.folder]), *found]
        return found

    @property
    def pid(self) -> int:
        """Of the running server; its processes are the children."""
        assert self._process is not None
        return self._process.pid

    def doveadm(self) -> list[str]:
        """Its program for administrators."""
        return self.inside("doveadm", "-c", str(self.conf))

    def start(self) -> None:
        """Run it, and wait until it lets somebody in."""
        as_user: dict[str, Any] = {}
        if os.geteuid() == 0 and not self._is_mapped:
            as_user = {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": []}
        command = self.inside(str(finder.dovecot()), "-F", "-c", str(self.conf))
        with (self.folder / "out").open("ab") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=out, cwd="/", preexec_fn=die_with_parent, start_new_session=True, **as_user
            )
        wait_until("Dovecot lets somebody in", self._is_ready)

    def stop(self) -> None:
        """End it as SIGTERM does; its mail stays."""
        process, self._process = self._process, None
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
                return

    def close(self) -> None:
        """End it, and remove its mail."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def imap(self, user: str = "alice") -> imaplib.IMAP4:
        """A connection that is logged in."""
        connection = imaplib.IMAP4(HOST, self.imap_port, timeout=60)
        connection.login(user, PASSWORD)
        return connection

    def pop3(self, user: str = "alice") -> poplib.POP3:
        """A connection that is logged in."""
        connection = poplib.POP3(HOST, self.pop3_port, timeout=60)
        connection.user(user)
        connection.pass_(PASSWORD)
        return connection

    def log(self) -> str:
        """All that it has told."""
        paths = [self.folder / name for name in ("out", "log")]
        return "".join(path.read_text(errors="replace") for path in paths if path.exists())

    def _is_ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise LabError(f"Dovecot ended with {self._process.returncode}:\n{self.log()}")
        try:
            connection = imaplib.IMAP4(HOST, self.imap_port, timeout=5)
        except (OSError, imaplib.IMAP4.error):
            return False
        connection.shutdown()
        return True

    def _make_files(self) -> None:
        self.maildirs.mkdir()
        (self.folder / "passwd").write_text("".join(f"{user}:{PASSWORD}::::::\n" for user in self._users))
        self.conf.write_text(self._configuration())
        self.folder.chmod(0o755)
        for path in (self.folder, *self.folder.iterdir()):
            if not self._is_mapped:
                os.chown(path, self._owner.pw_uid, self._owner.pw_gid)

    def _configuration(self) -> str:
        me, group = self._owner.pw_name, grp.getgrgid(self._owner.pw_gid).gr_name
        return f"""
{self._of_2_3() if self.version == "2.3" else self._of_2_4()}
base_dir = {self.folder}/run
state_dir = {self.folder}/state
log_path = {self.folder}/log
listen = {HOST}
ssl = no
default_internal_user = {me}
default_login_user = {me}
default_internal_group = {group}
first_valid_uid = 1
mail_max_lock_timeout = 30 secs
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
{_login("imap", self.imap_port)}
service lmtp {{
  inet_listener lmtp {{
    port = {self.lmtp_port}
  }}
}}
{_login("pop3", self.pop3_port) if self._has_pop3 else ""}
{self._settings}
"""

    @property
    def _has_pop3(self) -> bool:
        return self._root is None

    def _of_2_3(self) -> str:
        """What 2.4 says otherwise: where mail is, who may log in, and how."""
        layout = ":LAYOUT=fs" if self.layout == "fs" else ""
        return f"""
protocols = imap lmtp {"pop3" if self._has_pop3 else ""}
disable_plaintext_auth = no
mail_location = maildir:{self.maildirs}/%u{layout}
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {self.folder}/passwd
}}
userdb {{
  driver = static
  args = uid={self._owner.pw_uid} gid={self._owner.pw_gid} home={self.maildirs}/%u/home
}}
"""

    def _of_2_4(self) -> str:
        """The same for 2.4, whose first setting is the version that it is written for."""
        return f"""
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
protocols {{
  imap = yes
  lmtp = yes
  pop3 = {"yes" if self._has_pop3 else "no"}
}}
auth_allow_cleartext = yes
mail_driver = {self.driver}
mail_path = {self.maildirs}/%{{user}}
mailbox_list_layout = {self.layout}
passdb passwd-file {{
  default_password_scheme = PLAIN
  passwd_file_path = {self.folder}/passwd
}}
userdb static {{
  fields {{
    uid = {self._owner.pw_uid}
    gid = {self._owner.pw_gid}
    home = {self.maildirs}/%{{user}}/home
  }}
}}
"""


def _login(protocol: str, port: int) -> str:
    """The service that lets clients in by a protocol, on this port and without TLS."""
    return f"""service {protocol}-login {{
  chroot =
  inet_listener {protocol} {{
    port = {port}
  }}
  inet_listener {protocol}s {{
    port = 0
  }}
}}"""
