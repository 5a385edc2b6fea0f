"""Seconds as an option: `nan` is a float that no bound refuses, and no waiting can use."""

from __future__ import annotations

import math
from typing import Any

import click


class Seconds(click.FloatRange):
    """Between two bounds, both inclusive."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return found
