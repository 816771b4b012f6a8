"""How many functions lie between a slider that was moved and the noise that is drawn for it.

Counted are frames of this repository (`app.py`, `pages`, `dpcore`) on the stack whenever the
Playground's script calls `symmetric_gaussian_noise`, that function's own among them; Streamlit's,
the tests' and the standard library's are not.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from dpcore.mechanisms.noise import symmetric_gaussian_noise
from pages.server import caches
from tests.pages.looking import APP, Opener

REPOSITORY = APP.parent
MOST = 16  # with the one that hands a page's address to its function


def frames_of(frame) -> list[str]:
    """Files of this repository on the stack, from the script down."""
    files = []
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if any(file.is_relative_to(REPOSITORY / room) for room in ("app.py", "pages", "dpcore")):
            files.insert(0, file.relative_to(REPOSITORY).as_posix())
        frame = frame.f_back
    return files


def test_few_functions_lie_between_a_slider_and_the_noise(open_page: Opener):
    caches._rows.clear()
    stacks = []

    def look(frame, event: str, argument: object) -> None:
        if event == "call" and frame.f_code is symmetric_gaussian_noise.__code__:
            stacks.append(frames_of(frame))

    # The harness runs the script in a thread of its own.
    threading.setprofile(look)
    try:
        assert not open_page("explore/play", repetitions="2", seed="77").exception
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
    assert stacks
    for stack in stacks:
        assert len(stack) <= MOST, stack
