"""What the classroom asks of an address: which room, and whether it is for the wall."""

from __future__ import annotations

from pages.parameters.kinds import Parameter, Switch, Text, of_page

CLASSROOM: dict[str, Parameter] = of_page(
    "classroom",
    {
        "room": Text(
            control="text_input",
            title="Room code",
            help="Seven letters and digits, on the wall of the class.",
            default="",
            longest=16,
        ),
        "projector": Switch(title="Show the projector's view"),
    },
)
