"""Rows of directives.py about users and what they may do."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import LONG_MAX, Choice, Integer, Text
from pyrepl.config.user_kinds import UserLines


class Security:
    """Users"""

    user = Directive(
        UserLines(),
        (),
        "A user and its rules, as in `user alice on >secret ~app:* +@read`; one line for each, or all in aclfile."
        " CONFIG GET does not show it, ACL LIST does.",
        mutable=False,
        secret=True,
        unshown=True,
    )
    aclfile = Directive(
        Text(),
        "",
        "File that holds the users, a line for each as in `user`; ACL SAVE writes it, ACL LOAD reads it again. It must"
        " be there when the node starts.",
        mutable=False,
    )
    acl_pubsub_default = Directive(
        Choice("allchannels", "resetchannels"),
        "resetchannels",
        "What new users may do with channels: everything, or nothing until a rule says more.",
    )
    acllog_max_len = Directive(
        Integer(0, LONG_MAX), 128, "Entries that ACL LOG keeps of what was refused to users and of failed logins."
    )
