"""The owner at a site: asked first, told what left, and alone in pressing the buttons."""

from __future__ import annotations

import http.client
import io
import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from parties import NAMES
from PIL import Image

from dpcore.federated.guard import RequestRefused
from dpcore.federated.owner_page import (
    Desk,
    Office,
    attempts_left,
    desk_for,
    owner_page,
    page,
    picture,
    promised,
)
from dpcore.federated.plan import StudyPlan
from dpcore.federated.wire_messages import MOMENT, SUM, Request, values_from
from dpcore.privacy import gaussian_epsilon
from dpcore.privacy.guarantee_in_words import say_number


def request_of(plan: StudyPlan, guard) -> Request:
    return Request(plan.digest, 1, SUM, NAMES, dict.fromkeys(NAMES, guard.public_key))


def asked(address: str, method: str, place: str = "", host: str | None = None):
    root = address.removeprefix("http://")
    where, _, secret = root.partition("/")
    connection = http.client.HTTPConnection(where, timeout=10)
    with closing(connection):
        connection.request(method, f"/{secret}{place}", headers={"Host": host or where})
        response = connection.getresponse()
        return response.status, response.read()


@pytest.mark.parametrize("word", [True, False])
def test_the_owner_s_word_in_the_page_lets_it_leave_or_not(plan_with, guard_of, word):
    plan, told = plan_with(protocol="full"), threading.Event()
    desk = Desk(60.0, tell=lambda _: told.set())
    guard = guard_of(plan, "one", approve=desk.approve)
    request, left = request_of(plan, guard), []

    def answer():
        try:
            left.append(guard.answer(request.json()))
        except RequestRefused as refused:
            left.append(str(refused))

    thread = threading.Thread(target=answer, daemon=True)
    with owner_page(Office(plan, "one", guard.project, desk)) as address:
        thread.start()
        assert told.wait(30)
        status, said = asked(address, "GET")
        assert status == 200 and b"Let it leave" in said and b"second moment" in said
        assert asked(address, "POST", "yes/2-sum")[0] == 303  # of another request: nothing
        assert not left and not guard.project.releases()
        asked(address, "POST", f"{'yes' if word else 'no'}/{request.id}")
        thread.join(30)
        _, said = asked(address, "GET")
        status, seen = asked(address, "GET", f"{request.id}.png")
    assert isinstance(left[0], bytes) is word
    assert (status, len(guard.project.releases())) == ((200, 1) if word else (404, 0))
    assert (f"{len(left[0]):,} bytes" if word else "owner does not let").encode() in said
    assert b"Nothing waits" in said
    if word:
        assert Image.open(io.BytesIO(seen)).size == (5, 1)


def test_nobody_but_the_owner_presses_the_buttons(plan_with, guard_of):
    plan = plan_with()
    guard = guard_of(plan, "one")
    with owner_page(Office(plan, "one", guard.project, Desk(1.0))) as address:
        port = address.split(":")[2].split("/")[0]
        assert asked(f"http://127.0.0.1:{port}/guessed/", "GET")[0] == 404
        assert asked(f"http://127.0.0.1:{port}/guessed/", "POST", "yes/1-sum")[0] == 404
        assert asked(address, "GET", host="hospital.example.org")[0] == 404
        assert asked(address, "POST", "perhaps/1-sum")[0] == 404
        for place in ("../../ledger.sqlite", "1-sum.png", "9-rows.png", ".png"):
            assert asked(address, "GET", place)[0] == 404


def test_silence_is_a_no_before_the_hub_stops_waiting(plan_with, guard_of):
    plan = plan_with(round_seconds=100.0)
    guard = guard_of(plan, "one", approve=Desk(0.0).approve)
    with pytest.raises(RequestRefused, match="owner"):
        guard.answer(request_of(plan, guard).json())
    assert not guard.project.releases()
    clock, heard = [0.0], []
    desk = desk_for(plan, None, lambda _: heard.append(desk.seconds_left))
    desk._now = lambda: clock[0]
    threading.Timer(0.05, lambda: clock.__setitem__(0, 80.1)).start()
    assert not desk.approve(request_of(plan, guard)) and heard == [80.0]


def test_the_first_word_counts_and_only_while_it_is_asked_for(plan_with, guard_of):
    plan = plan_with()
    request = request_of(plan, guard_of(plan, "one"))

    def tell(_):
        assert desk.decide("1-sum", False) and desk.decide("1-sum", True)

    desk = Desk(60.0, tell=tell)
    assert not desk.decide("1-sum", True)
    assert not desk.approve(request)
    assert not desk.decide("1-sum", True)


def test_what_the_cap_still_admits_is_what_it_admits(plan_with, guard_of):
    plan = plan_with()
    guard = guard_of(plan, "one")
    request = request_of(plan, guard)
    left = attempts_left(plan, guard.project)
    for attempt in range(1, left + 1):
        guard.answer(replace(request, attempt=attempt).json())
        assert attempts_left(plan, guard.project) == left - attempt
    assert left > 1 and "no more attempt" in page(Office(plan, "one", guard.project))
    with pytest.raises(RequestRefused, match="cap"):
        guard.answer(replace(request, attempt=left + 1).json())


def test_a_promise_says_who_is_a_person_and_on_whom_it_counts(plan_with):
    """Where an invitation's dictionary names no people each of somebody's rows is another."""
    said = promised(plan_with())
    assert "(each row is another), if at least 3 of 4 sites answer, and 3 of all keep" in said
    bare = gaussian_epsilon(plan_with().delta, 1.0, plan_with().scales.mu)
    assert plan_with().epsilon_unmasked == pytest.approx(bare, rel=1e-6) and bare > 1.2
    assert f"of its own reads a message under ε = {say_number(bare)}; with --peers" in said
    assert "by the noise of their own site alone." in promised(plan_with(protocol="full"))
    named = replace(plan_with().dictionary, person="patient", at_most=3)
    assert "(whoever “patient” names)" in promised(replace(plan_with(), dictionary=named))


def test_what_the_hub_writes_is_no_html(plan_with, guard_of):
    guard = guard_of(plan_with(), "one")
    with pytest.raises(RequestRefused):
        guard.answer(b"<script>alert(1)</script>")
    said = page(Office(guard.plan, "one", guard.project))
    assert "<script" not in said and "&lt;script" in said and "is no JSON" in said


def test_a_picture_shows_the_numbers(plan_with, guard_of):
    plan = plan_with(protocol="full")
    upper = np.arange(10)
    seen = np.asarray(Image.open(io.BytesIO(picture(plan, MOMENT, upper))))
    assert seen.shape == (4, 4) and (seen == seen.T).all() and seen[0, 0] == 0 == seen.min()
    guard = guard_of(plan, "one")
    request = request_of(plan, guard)
    values = values_from(guard.answer(request.json()), plan, request, "one")
    assert Image.open(io.BytesIO(picture(plan, SUM, values))).size == (5, 1)
    wide = np.arange(2000 * 2001 // 2)
    one_wide = type("Plan", (), {"n_features": 2000})
    assert Image.open(io.BytesIO(picture(one_wide, MOMENT, wide))).size == (250, 250)
