"""INFO cpu: processor time of the process and of its children."""

from __future__ import annotations

from typing import Final

from pyrepl.observability.info.field import Field, Kind, Section

_DIGITS: Final = 6

CPU: Final = Section(
    "CPU",
    (
        Field(
            "used_cpu_sys",
            Kind.COUNTER,
            lambda node: node.process.cpu_sys_s,
            "Processor time of the process, in the kernel.",
            "s",
            _DIGITS,
        ),
        Field(
            "used_cpu_user",
            Kind.COUNTER,
            lambda node: node.process.cpu_user_s,
            "Processor time of the process, in its own code.",
            "s",
            _DIGITS,
        ),
        Field(
            "used_cpu_sys_children",
            Kind.COUNTER,
            lambda node: node.process.cpu_sys_children_s,
            "Processor time of children that ended, in the kernel.",
            "s",
            _DIGITS,
        ),
        Field(
            "used_cpu_user_children",
            Kind.COUNTER,
            lambda node: node.process.cpu_user_children_s,
            "Processor time of children that ended, in their own code.",
            "s",
            _DIGITS,
        ),
    ),
)
