"""Visitors without a browser: the app's own websocket protocol, a tab for each."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_LONGEST_RUN = 120.0


@dataclass
class Shown:
    """What one run of the script put on the page.

    Parameters
    ----------
    seconds : float
        Until it had finished.
    kinds : list of str
        Of its elements, in the order they came.
    words : str
        What its texts, notices and bars say.
    handed : dict of str to str
        What components of our own were given, by their names.
    buttons : dict of label to identity
    controls : dict of name to (kind, identity)
        Those with a name of their own, which is the address's.
    every : float or None
        Seconds after which a part of the page asks to be drawn again.
    fragment : str
        The part; the last that was drawn.
    components : dict of name to (identity, part)
        Components of our own, with the part of the page that they are in.
    set_to : dict of str to str
        Controls that a browser is told to move, by their names, and where to.
    part_of : dict of identity to str
        The part of the page that a button is in, which alone is drawn when it is pressed.
    """

    seconds: float = 0.0
    kinds: list[str] = field(default_factory=list)
    words: str = ""
    handed: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, str] = field(default_factory=dict)
    controls: dict[str, tuple[str, str]] = field(default_factory=dict)
    every: float | None = None
    fragment: str = ""
    components: dict[str, tuple[str, str]] = field(default_factory=dict)
    set_to: dict[str, str] = field(default_factory=dict)
    part_of: dict[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether there is a chart, Plotly's or ours, and no error."""
        is_drawn = "plotly_chart" in self.kinds or "energy_frames" in self.handed
        return is_drawn and "exception" not in self.kinds

    @property
    def is_answered(self) -> bool:
        """Whether the page says what its present setting promises, and there is no error."""
        return "What it promises" in self.words and "exception" not in self.kinds


class Visitor:
    """A tab on one page.

    Attributes
    ----------
    parts : dict of str to float
        Parts of the page that ask to be drawn again, with after how many seconds.
    """

    def __init__(self, socket, page: str):
        self._socket, self._page = socket, page
        self._controls: dict[str, tuple[str, str]] = {}
        self._components: dict[str, tuple[str, str]] = {}
        self.parts: dict[str, float] = {}

    async def send(self, message: BackMsg) -> None:
        """Any message, also one that no browser would send."""
        await self._socket.send(message.SerializeToString())

    async def ask(
        self, query: str = "", *, press: str = "", fragment: str = "", **moved: float
    ) -> None:
        """Ask for a run of the script, without waiting for it.

        An address sets controls only as a page is opened; from then on, they are `moved`.
        """
        if not fragment:
            self.parts.clear()
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.fragment_id = query, self._page, fragment
        state.is_auto_rerun = bool(fragment) and not press
        if press:
            state.widget_states.widgets.add(id=press, trigger_value=True)
        else:
            state.widget_states.SetInParent()
        for name, value in moved.items():
            kind, identity = self._controls[name]
            control = state.widget_states.widgets.add(id=identity)
            if kind == "number_input":
                control.double_value = value
            elif kind == "slider":
                control.double_array_value.data.append(value)
            else:  # a slider of labels
                control.string_array_value.data.append(f"{value:g}")
        await self.send(message)

    async def release(self, epsilon: float) -> Shown:
        """Let go of the slider of Play, and what is drawn for it to its end."""
        identity, part = self._components["energy_explorer"]
        message = BackMsg()
        state = message.rerun_script
        state.page_name, state.fragment_id = self._page, part
        events = json.dumps([{"event": "released", "value": epsilon}])
        name = f"$$STREAMLIT_INTERNAL_KEY_{identity}__events"
        state.widget_states.widgets.add(id=identity, json_value="{}")
        state.widget_states.widgets.add(id=name, json_trigger_value=events)
        started = time.perf_counter()
        await self.send(message)
        shown = await self.shown()
        shown.seconds = time.perf_counter() - started
        return shown

    async def run(
        self, query: str = "", *, press: str = "", fragment: str = "", **moved: float
    ) -> Shown:
        """A run of the script to its end."""
        started = time.perf_counter()
        await self.ask(query, press=press, fragment=fragment, **moved)
        shown = await self.shown()
        shown.seconds = time.perf_counter() - started
        return shown

    async def shown(self, until: str = "") -> Shown:
        """What comes until the script has finished, or until these words are there."""
        shown = Shown()
        while True:
            forward = ForwardMsg()
            forward.ParseFromString(await asyncio.wait_for(self._socket.recv(), _LONGEST_RUN))
            kind = forward.WhichOneof("type")
            if kind == "delta":
                # Words that say what one waits for come apart from the elements that stay.
                for element in (forward.delta.new_element, *forward.delta.new_transient.elements):
                    _note(shown, element, forward.delta.fragment_id)
                self._controls |= shown.controls
                self._components |= shown.components
                if until and until in shown.words:
                    return shown
            elif kind == "auto_rerun":
                shown.every = forward.auto_rerun.interval
                shown.fragment = forward.auto_rerun.fragment_id
                self.parts[shown.fragment] = shown.every
            elif kind == "stop_auto_rerun":
                for part in forward.stop_auto_rerun.fragment_ids:
                    self.parts.pop(part, None)
            elif kind == "script_finished":
                early = ForwardMsg.FINISHED_EARLY_FOR_RERUN
                if forward.script_finished != early:
                    return shown


@asynccontextmanager
async def visitor(address: str, page: str = "", **headers: str) -> AsyncIterator[Visitor]:
    """A tab that has connected and asked for nothing yet; leaving closes it."""
    uri = address.replace("http", "ws") + "/_stcore/stream"
    protocols = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]
    # Whoever leaves in the middle of a page does not wait for room in a full queue.
    unbounded = {"max_size": None, "max_queue": None}
    async with websockets.connect(
        uri, subprotocols=protocols, additional_headers=headers, **unbounded
    ) as socket:
        yield Visitor(socket, page)


def _note(shown: Shown, element, part: str) -> None:
    kind = element.WhichOneof("type")
    if kind is None:
        return
    shown.kinds.append(kind)
    content = getattr(element, kind)
    for name in ("body", "text", "message", "label"):
        shown.words += f"{getattr(content, name, '')}\n"
    if kind == "bidi_component":
        shown.handed[content.component_name] = content.json
        shown.components[content.component_name] = content.id, part
    if kind == "button":
        shown.buttons[content.label] = content.id
        shown.part_of[content.id] = part
    if kind in ("slider", "number_input") and content.query_param_key:
        labels = kind == "slider" and content.type == content.SELECT_SLIDER
        shown.controls[content.query_param_key] = "labels" if labels else kind, content.id
        if content.set_value:
            value = content.raw_value[0] if labels else str(content.value)
            shown.set_to[content.query_param_key] = value
