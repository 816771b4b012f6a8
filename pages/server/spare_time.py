"""What pages fill in while nobody waits, and how it gives way to whoever does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

from pages.server import page_lock

Item = TypeVar("Item")
# How often it is asked whether somebody waits.
_LOOK_SECONDS = 0.02
_ours = threading.local()


class GivesWay(BaseException):
    """Ends what is filled in for nobody any more.

    No `Exception`: whoever waits for the same makes it then
    (`dpcore.experiments.engine.once_cache`).
    """


def checkpoint() -> Callable[[], None]:
    """What draws made by this thread call now and then, from whatever thread."""
    found: Callable[[], None] = getattr(_ours, "checkpoint", _go_on)
    return found


def compute_for(missing: Sequence[Item], compute: Callable[[Item], object], seconds: float) -> None:
    """Compute one after the other until the time is up, or somebody waits for an answer.

    Whoever waits is served at once. What was begun is finished beside a visitor that is somebody
    else, and given up for the one whose page it is for, who wants another now.
    """
    stop, given_up, is_over = time.monotonic() + seconds, threading.Event(), threading.Event()

    def look() -> None:
        if given_up.is_set():
            raise GivesWay

    def work() -> None:
        _ours.checkpoint = look
        for item in missing:
            compute(item)
            if is_over.is_set() or time.monotonic() > stop:
                return

    with page_lock.spare() as is_free:
        if not (is_free and missing):
            return
        beside = ThreadPoolExecutor(1)
        working = beside.submit(work)
        beside.shutdown(wait=False)
        while wait([working], _LOOK_SECONDS).not_done:
            if _is_asked_again():
                given_up.set()
            if given_up.is_set() or page_lock.is_wanted():
                is_over.set()
                return
        working.result()


def _go_on() -> None:
    pass


def _is_asked_again() -> bool:
    """Whether this visitor has moved a control, or left, since this run began.

    Streamlit would wait for the end of the run: a part of a page does not interrupt another.
    """
    context = get_script_run_ctx(suppress_warning=True)
    requests = None if context is None else context.script_requests
    if requests is None:
        return False
    asked, run = requests._state, requests._rerun_data  # noqa: SLF001, they have no public names
    if asked is not ScriptRequestType.RERUN:
        return asked is ScriptRequestType.STOP
    # Parts that fill in ask by themselves, and can wait; but such a request may have been put
    # together with one for the whole page, or with what a hand has let go of.
    return not (run.is_auto_rerun and run.fragment_id_queue) or _has_trigger(run.widget_states)


def _has_trigger(states: WidgetStates | None) -> bool:
    kinds = [(each, each.WhichOneof("value") or "") for each in states.widgets] if states else []
    return any(kind.endswith("trigger_value") and getattr(each, kind) for each, kind in kinds)
