"""What an address says of a presentation, on every page."""

from __future__ import annotations

from pages.parameters.kinds import Number, OneOf, Parameter, Switch, of_page

# More than anybody sits through.
MOST_PINS = 60
PRESENTING: dict[str, Parameter] = {
    "present": Switch(title="Presenter mode"),
    "slide": Number(
        control="number_input", title="Slide of the deck", low=0, high=MOST_PINS, default=0
    ),
}
# Numbers of pins, whichever there are.
_PIN = tuple(range(1, MOST_PINS + 1))
DECK: dict[str, Parameter] = of_page(
    "deck",
    {
        "deck_a": OneOf(control="selectbox", title="A", default=1, options=_PIN),
        "deck_b": OneOf(control="selectbox", title="B", default=2, options=_PIN),
    },
)
