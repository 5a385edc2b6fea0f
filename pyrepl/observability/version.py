"""The version of Redis that we claim to be where clients ask for one.

7.2.4, as Valkey does: the last release of Redis before the projects parted, so clients and tools that look at the
number already know it as "speaks like Redis 7.2 and need not be Redis". A higher number would promise commands that we
do not have, a lower one would keep clients from CLIENT SETINFO and CLIENT NO-TOUCH. Our own version stands beside it
in INFO (pyrepl_version).
"""

from __future__ import annotations

from typing import Final

REDIS_VERSION: Final = "7.2.4"
