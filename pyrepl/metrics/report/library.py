"""The charts' library for the page: Vega, Vega-Lite and vega-embed as one piece of JavaScript, from vl-convert."""

from __future__ import annotations

from typing import Final

_EXPORTS: Final = "window.vegaEmbed = vegaEmbed;"


def bundle() -> str:
    """About 900 kB of JavaScript that sets `window.vegaEmbed`; takes some seconds. Raises ImportError without it."""
    import vl_convert

    return str(vl_convert.javascript_bundle(_EXPORTS))
