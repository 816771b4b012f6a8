"""What the explorer in the browser is handed: sentences, numbers to be drawn, and pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.rebuilt_people import INK
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.sentences import counted, in_plain_words, percent, spread_of
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.style import look_of
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.card import say_number
from pages.parameters.words import plain
from pages.server import frames_cache
from pages.server.frames_cache import Frame, Round

_EPSILONS = [{"value": epsilon, "label": plain(epsilon)} for epsilon in EPSILONS]


def control(spec: RunSpec) -> dict[str, Any]:
    """Where the slider stands, and among what."""
    return {
        "setting": setting_of(spec),
        "epsilon": spec.epsilon,
        "epsilons": _EPSILONS,
    }


def setting_of(spec: RunSpec) -> str:
    """A name for everything but ε: frames of one name belong together."""
    return blake2b(repr(replace(spec, epsilon=1.0)).encode(), digest_size=8).hexdigest()


def along_epsilon(spec: RunSpec) -> tuple[RunSpec, ...]:
    """A spec at every ε that its calibration takes, the present one first, then outwards."""
    most = 1.0 if spec.calibration == "classic" else EPSILONS[-1]
    there = [EPSILONS.index(epsilon) for epsilon in EPSILONS if epsilon <= most]
    here = EPSILONS.index(spec.epsilon)
    order = sorted(there, key=lambda index: abs(index - here))
    return tuple(replace(spec, epsilon=EPSILONS[index]) for index in order)


def payload(spec: RunSpec, frames: Sequence[Frame], n_wanted: int | None = None) -> dict[str, Any]:
    """Frames of a setting, for the browser: all there are, at `n_wanted` ε, or some of them."""
    return {
        "setting": setting_of(spec),
        "epsilons": _EPSILONS,
        "looks": [_look(key) for key in spec.protocols],
        # In one order wherever ε stands: what the browser has already is then not sent again.
        "frames": [_frame(frame) for frame in sorted(frames, key=lambda each: each.spec.epsilon)],
        "count": None if n_wanted is None else _so_far(frames, n_wanted),
    }


def met(spec: RunSpec, dataset: DatasetStatus, round_: Round) -> dict[str, Any]:
    """The people of one run for the browser, at every ε there is; with the first, who they are."""
    return {
        "setting": setting_of(spec),
        "run": round_.run,
        "epsilons": list(round_.levels),
        "levels": b64encode(b"".join(round_.levels.values())).decode(),
        "people": _people(spec, dataset) if round_.run == 0 else None,
    }


def _people(spec: RunSpec, dataset: DatasetStatus) -> dict[str, Any]:
    shown, shape = frames_cache.people(spec), dataset.image_shape
    height, width = shape or (len(shown.columns), 1)
    kind = "bars" if shape is None else "ink" if dataset.name in INK else "photograph"
    true, exact = frames_cache.true_and_exact(spec)
    return {
        "kind": kind,
        "height": height,
        "width": width,
        "names": shown.names,
        "truth": b64encode(true).decode(),
        "exact": b64encode(exact).decode(),
    }


def _so_far(frames: Sequence[Frame], n_wanted: int) -> str:
    """How far it is, in words; nothing once it is whole."""
    if len(frames) < n_wanted:
        return f"{len(frames)} of {n_wanted} steps of ε so far."
    least, draws = min(frame.n_draws for frame in frames), frames[0].spec.repetitions
    return f"{least} of {draws} runs everywhere so far." if least < draws else ""


def _look(key: str) -> dict[str, str]:
    look = look_of(key)
    return {"key": key, "label": look.label, "colour": look.colour, "symbol": look.symbol,
            "dash": look.dash}  # fmt: skip


def _frame(frame: Frame) -> dict[str, Any]:
    key, first = frame.spec.protocols[0], frame.rows[0]
    lead, title = spread_of(frame.rows, key), PROTOCOLS[key].title
    exact = next(row["exact_epsilon"] for row in frame.rows if row["protocol"] == key)
    asked, holds = plain(frame.spec.epsilon), say_number(exact)
    delivered = "" if holds == asked else f" Requested ε = {asked}, delivered ε = {holds}."
    found: dict[str, Any] = {
        "epsilon": frame.spec.epsilon,
        "energies": {
            key: [round(row["energy_ratio"], 4) for row in frame.rows if row["protocol"] == key]
            for key in frame.spec.protocols
        },
        "floor": round(first["random_ratio"], 4),
        "number": percent(lead.mean),
        "meaning": in_plain_words(frame.rows),
        "by": f"{title}, {_sites(first)}{_spread(frame)}.{delivered}",
        "alt": _takeaway(frame),
        "people_alt": f"Ten people rebuilt from private components at ε = {asked}.",
    }
    return found


def _sites(row: PcaRow) -> str:
    return f"{counted(row['sites'], 'site')} of {row['samples'] // row['sites']:,} people"


def _spread(frame: Frame) -> str:
    lead = spread_of(frame.rows, frame.spec.protocols[0])
    if lead.draws == 1:
        return ", one run"
    least, greatest = percent(lead.least), percent(lead.greatest)
    reach = f"{least} to {greatest}" if least != greatest else f"{least} each"
    return f"; {lead.draws} runs: {reach}"


def _takeaway(frame: Frame) -> str:
    kept = (
        f"{PROTOCOLS[key].title} {percent(spread_of(frame.rows, key).mean)}"
        for key in frame.spec.protocols
    )
    return (
        f"What survives of the pattern at ε = {plain(frame.spec.epsilon)}: {', '.join(kept)}; "
        f"a random guess {percent(frame.rows[0]['random_ratio'])}."
    )
