"""What the explorer in the browser is handed: sentences, numbers to be drawn, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from statistics import fmean
from typing import Any

from dpcore.data import DatasetStatus
from dpcore.experiments.engine.control_ranges import EPSILONS
from dpcore.experiments.pca.runs import PcaRow
from dpcore.experiments.pca.sentences import counted, in_plain_words, percent, spread_of
from dpcore.experiments.pca.spec import RunSpec
from dpcore.figures.style import look_of
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy.card import say_number
from pages.parameters.words import plain
from pages.server import frames_cache
from pages.server.frames_cache import Frame, Pictures

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


def payload(
    spec: RunSpec, dataset: DatasetStatus, frames: Sequence[Frame], n_wanted: int | None = None
) -> dict[str, Any]:
    """Frames of a setting, for the browser: all there are, at `n_wanted` ε, or some of them."""
    exact = frames_cache.exact_pictures(spec, dataset)
    named = {"names": frames_cache.features_of(spec)} if exact.loadings else {}
    return {
        "setting": setting_of(spec),
        "epsilons": _EPSILONS,
        "lead": PROTOCOLS[spec.protocols[0]].title,
        "looks": [_look(key) for key in spec.protocols],
        "exact": _pictures(exact, "Exact PCA") | named,
        # In one order wherever ε stands: what the browser has already is then not sent again.
        "frames": [_frame(frame) for frame in sorted(frames, key=lambda each: each.spec.epsilon)],
        "count": None if n_wanted is None else _so_far(frames, n_wanted),
    }


def _so_far(frames: Sequence[Frame], n_wanted: int) -> str:
    """How far it is, in words; nothing once it is whole."""
    if len(frames) < n_wanted:
        return f"{len(frames)} of {n_wanted} steps of ε so far."
    least, draws = min(frame.n_draws for frame in frames), frames[0].spec.repetitions
    return f"{least} of {draws} draws everywhere so far." if least < draws else ""


def _look(key: str) -> dict[str, str]:
    look = look_of(key)
    return {"key": key, "label": look.label, "colour": look.colour, "symbol": look.symbol,
            "dash": look.dash}  # fmt: skip


def _frame(frame: Frame) -> dict[str, Any]:
    key, first = frame.spec.protocols[0], frame.rows[0]
    lead, title = spread_of(frame.rows, key), PROTOCOLS[key].title
    exact = next(row["exact_epsilon"] for row in frame.rows if row["protocol"] == key)
    asked = plain(frame.spec.epsilon)
    found: dict[str, Any] = {
        "epsilon": frame.spec.epsilon,
        "energies": {
            key: [round(row["energy_ratio"], 4) for row in frame.rows if row["protocol"] == key]
            for key in frame.spec.protocols
        },
        "floor": round(first["random_ratio"], 4),
        "number": percent(lead.mean),
        "kept": in_plain_words(frame.rows),
        "by": f"By {title} with {_sites(first)}{_spread(frame)}.",
        "holds": f"Asked: ε = {asked}. What holds exactly: ε = {say_number(exact)}.",
        "alt": _takeaway(frame),
    }
    return found | _pictures(frame.pictures, title)


def _sites(row: PcaRow) -> str:
    return f"{counted(row['sites'], 'site')} of {row['samples'] // row['sites']:,} people"


def _spread(frame: Frame) -> str:
    lead = spread_of(frame.rows, frame.spec.protocols[0])
    if lead.draws == 1:
        return ", in one draw"
    least, greatest = percent(lead.least), percent(lead.greatest)
    reach = f"{least} to {greatest}" if least != greatest else f"{least} each"
    return f" ({reach} over {lead.draws} draws)"


def _takeaway(frame: Frame) -> str:
    kept = (
        f"{PROTOCOLS[key].title} {percent(spread_of(frame.rows, key).mean)}"
        for key in frame.spec.protocols
    )
    return (
        f"At ε = {plain(frame.spec.epsilon)} of what exact PCA captures is kept by: "
        f"{', '.join(kept)}; by pure chance {percent(frame.rows[0]['random_ratio'])}."
    )


def _pictures(pictures: Pictures, title: str) -> dict[str, Any]:
    cosines = pictures.cosines
    found: dict[str, Any] = {
        "cosines": [f"{cosine:.2f}" for cosine in cosines],
        "picture_alt": f"{title}: the {counted(len(cosines), 'leading component')}. "
        f"Mean |cosine| to the exact ones {fmean(cosines):.2f}.",
    }
    if pictures.sprite:
        return found | {"sprite": pictures.sprite}
    return found | {"loadings": pictures.loadings}
