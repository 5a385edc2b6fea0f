"""The charts' library, as one piece of JavaScript that needs no network."""

from __future__ import annotations

from pyrepl.metrics.report.library import bundle


def test_the_bundle_draws() -> None:
    code = bundle()
    assert "window.vegaEmbed" in code
    assert len(code) > 500_000
