"""Visitors without a browser, one tab each, over the app's websocket protocol."""

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
    """Elements that one run of the script sent to the page.

    Parameters
    ----------
    seconds : float
        Duration of the run.
    kinds : list of str
        Kinds of the elements, in the order of arrival.
    words : str
        Texts of elements, notices and progress bars.
    handed : dict of str to str
        Data of the custom components, by name.
    buttons : dict of label to identity
    controls : dict of name to (kind, identity)
        Widgets that are bound to the address, by their name there.
    every : float or None
        Interval in seconds at which a fragment asks to be drawn again.
    fragment : str
        Identity of that fragment.
    components : dict of name to (identity, fragment)
        Custom components, with the fragment that contains each.
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

    @property
    def is_whole(self) -> bool:
        """Whether there is a chart, by Plotly or by the explorer, and no error."""
        is_drawn = "plotly_chart" in self.kinds or "explorer_data" in self.handed
        return is_drawn and "exception" not in self.kinds


class Visitor:
    """Tab on one page.

    Attributes
    ----------
    parts : dict of str to float
        Intervals in seconds of the fragments that ask to be drawn again, by identity.
    explorer : dict
        Setting, steps and present step of the curve on the start page.
    """

    def __init__(self, socket, page: str):
        self._socket, self._page = socket, page
        # Hash of the page by which the server finds it again when a fragment reruns the script.
        self._page_hash = ""
        self._controls: dict[str, tuple[str, str]] = {}
        self._components: dict[str, tuple[str, str]] = {}
        self.parts: dict[str, float] = {}
        self.explorer: dict = {}

    async def send(self, message: BackMsg) -> None:
        """Send any message, including one that no browser would send."""
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
        state.page_script_hash = self._page_hash
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

    async def release(self, label: str) -> Shown:
        """Release the line of the start page at a step, and read the page to the end of that run.

        Raises `RuntimeError` if the answer shows another step, or an exception.
        """
        labels = [step["label"] for step in self.explorer["steps"]]
        released = {"setting": self.explorer["setting"], "at": labels.index(label)}
        identity, part = self._components["explorer"]
        message = BackMsg()
        state = message.rerun_script
        state.page_name, state.fragment_id = self._page, part
        events = json.dumps([{"event": "released", "value": released}])
        name = f"$$STREAMLIT_INTERNAL_KEY_{identity}__events"
        state.widget_states.widgets.add(id=identity, json_value="{}")
        state.widget_states.widgets.add(id=name, json_trigger_value=events)
        started = time.perf_counter()
        await self.send(message)
        shown = await self.shown()
        shown.seconds = time.perf_counter() - started
        if "exception" in shown.kinds or self.explorer["at"] != released["at"]:
            raise RuntimeError(f"{self.explorer['at']} for {released}: {shown.words[-300:]}")
        return shown

    async def run(
        self, query: str = "", *, press: str = "", fragment: str = "", **moved: float
    ) -> Shown:
        """Run the script to its end and return the elements."""
        started = time.perf_counter()
        await self.ask(query, press=press, fragment=fragment, **moved)
        shown = await self.shown()
        shown.seconds = time.perf_counter() - started
        return shown

    async def shown(self, until: str = "") -> Shown:  # noqa: C901 - one branch per kind of message
        """Return what arrives until the script has finished, or until these words arrive."""
        shown = Shown()
        while True:
            forward = ForwardMsg()
            forward.ParseFromString(await asyncio.wait_for(self._socket.recv(), _LONGEST_RUN))
            kind = forward.WhichOneof("type")
            if kind == "delta":
                # Texts of spinners arrive as transient elements.
                for element in (forward.delta.new_element, *forward.delta.new_transient.elements):
                    _note(shown, element, forward.delta.fragment_id)
                self._controls |= shown.controls
                self._components |= shown.components
                if "explorer" in shown.handed:
                    [self.explorer] = json.loads(shown.handed["explorer"])
                if until and until in shown.words:
                    return shown
            elif kind == "navigation":
                self._page_hash = forward.navigation.page_script_hash
            elif kind == "new_session":
                # A run of the whole page ends all fragments; those it draws ask again.
                if not forward.metadata.run.fragment_ids:
                    self.parts.clear()
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
    """Connect a tab that has not requested a run yet; close it at the end."""
    uri = address.replace("http", "ws") + "/_stcore/stream"
    protocols = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"]
    # Closing a tab in the middle of a page must not wait for room in a full queue.
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
    if kind in ("slider", "number_input") and content.query_param_key:
        labels = kind == "slider" and content.type == content.SELECT_SLIDER
        shown.controls[content.query_param_key] = "labels" if labels else kind, content.id
