"""What an address says of a presentation, on every page."""

from __future__ import annotations

from pages.parameters.kinds import Number, Parameter, Switch

# More than anybody sits through.
MOST_PINS = 60
PRESENTING: dict[str, Parameter] = {
    "present": Switch(title="Presenter mode"),
    "slide": Number(
        control="number_input", title="Slide of the deck", low=0, high=MOST_PINS, default=0
    ),
}
