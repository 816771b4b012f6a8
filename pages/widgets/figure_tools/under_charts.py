"""Every chart's table and pictures, made in the browser from what it was drawn from."""

from __future__ import annotations

from pathlib import Path

from pages.sidebar.navigation import Place
from pages.sidebar.parts import in_browser, part
from pages.widgets.figure_tools.small_type import promises, settings

_HERE = Path(__file__).parent
_tools = in_browser(
    "figure_tools", *(_HERE / f"{name}.js" for name in ("picture", "markup", "figures"))
)


def figure_tools(place: Place) -> None:
    """Put a table and pictures under every chart there is and comes; called once the page ran."""
    part("figure_tools", _tell)(place)


def _tell(place: Place) -> None:
    _tools(key="figure_tools", data={"settings": settings(place), "promises": promises()})
