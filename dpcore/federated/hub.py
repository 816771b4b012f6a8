"""The hub: asks sites, adds up what came, makes components of it. It holds no row.

And what the result promises, to whom, and on what that rests.

The hub: asks the sites, waits no longer than agreed, adds up what came. It holds no row.

Its state is a file and the frames it was sent, each written before it counts, so that a hub that
was killed goes on where it was. Time passes through `tick` alone.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from dpcore.arrays import AnyArray, FloatArray, IntArray
from dpcore.cca.canonical import canonical_pairs, noise_floor
from dpcore.errors import ParameterError, shortened
from dpcore.federated.plan import StudyPlan
from dpcore.federated.wire_messages import (
    MOMENT,
    MOST_ATTEMPTS,
    SUM,
    FrameError,
    Request,
    added_up,
    is_key,
    is_request_id,
    most_possible,
    noise_reach,
    values_from,
)
from dpcore.pca.aggregator import Inbox, add_up
from dpcore.pca.messages import symmetric_from
from dpcore.pca.site import SiteMessage
from dpcore.privacy import Adversary, Against, Guarantee, PrivacyBudget
from dpcore.privacy.accountant import counted_epsilon
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label import Label, label_of, label_page
from dpcore.release.certificate import (
    ASSUMPTIONS,
    READER_ALONE,
    as_json,
    how_prepared,
    relation,
    who_is_one,
)
from dpcore.release.certificate_label import NOT_ATTACKED
from dpcore.release.integer_moments import MOST_ROWS
from dpcore.release.integer_rows import LENGTH
from dpcore.release.measurement import ESTIMATES, Measured, centre_of, estimate_of, leading_of
from dpcore.release.project import sync_folder
from dpcore.release.software import software
from dpcore.spectra import PublicBasis, Spectrum, leading_eigenpairs

# What a hub makes of what sites sent: a centre, then components. All of it is post-processing.

FORM = "dp-pca-lab/study-certificate/2"
OF_ALL_ATTEMPTS = (
    "Nobody plans how many attempts it takes. At whatever number they stop, for whatever was seen, "
    "epsilon_of_all_attempts holds of all of them at delta: an odometer's number, larger than that "
    "of a plan. Beside it each site's ledger keeps the cap that it was given beforehand, for all "
    "attempts and all else released about its people."
)
OF_SITES = tuple(
    """\
Each site's rows lie at that site alone, and its guard is this program, unchanged.
As many sites as are counted on keep their masks, keys and noise to themselves, and their public \
keys reached one another as they are.
Nobody times the guards, which take longer over more rows: a hub can, and ε does not cover it.
""".splitlines()
)


def centre_and_count(
    plan: StudyPlan, sums: Mapping[str, IntArray]
) -> tuple[tuple[int, ...], float]:
    """The centre on the grid and the noisy number of rows, from the sums of sites that answered.

    sums: mapping of str to ndarray of int64, shape (n_features + 1,)
    """
    noisy = added_up(list(sums.values()))
    n_rows = float(noisy[-1]) / plan.scales.count_weight
    sigma = math.sqrt(len(sums)) * plan.scales.sum_sigma
    centre = centre_of(noisy[:-1], n_rows, sigma)
    return tuple(int(each) for each in centre), n_rows


def require_possible_sum(plan: StudyPlan, sums: Mapping[str, IntArray]) -> None:
    """Refuse sums that no rows add up to, under masks or not.

    sums: As in `centre_and_count`.
    Raises `FrameError` with what they would be.
    """
    total, n_sites = added_up(list(sums.values())).astype(float), len(sums)
    beyond = np.abs(total) > n_sites * most_possible(plan, SUM)
    if beyond.any() or total[-1] < -n_sites * noise_reach(plan, SUM):
        count = total[-1] / plan.scales.count_weight
        raise FrameError(
            f"the sites' sums say that there are {count:,.0f} rows, and no rows add up to them: one"
            " of the sites sent what no guard sends"
        )


def require_possible_moment(
    plan: StudyPlan, moments: Mapping[str, AnyArray], n_rows: float
) -> None:
    """Refuse moments under masks that the counted rows, of length 1 at most, do not add up to.

    moments: As in `components`.
    n_rows: From `centre_and_count`, of these sites or more.
    Raises `FrameError`.
    """
    if not plan.is_masked:  # each is bounded for itself
        return
    n_sites, noise = len(moments), len(moments) * noise_reach(plan, MOMENT)
    off = len(plan.sites) * noise_reach(plan, SUM) / plan.scales.count_weight
    rows = min(n_rows + off, n_sites * MOST_ROWS)
    (total,) = _together(plan, list(moments.values()))
    together = _message(plan, total).values * LENGTH**2
    diagonal = np.diag(together)
    if (
        diagonal.min() < -noise
        or diagonal.sum() > rows * LENGTH**2 + plan.n_features * noise
        or np.abs(together).max() > rows * LENGTH**2 + noise
    ):
        raise FrameError(
            f"about {n_rows:,.0f} rows do not add up to the sites' moments: one of the sites sent "
            "what no guard sends"
        )


def count_in_words(plan: StudyPlan, n_rows: float, n_sites: int) -> str:
    """The noisy number of rows with its noise, and a word where it says nothing."""
    sigma = count_sigma(plan, n_sites)
    said = f"{n_rows:,.0f} ± {sigma:,.0f}"
    return said if n_rows > 2 * sigma else f"{said}, the noise hides how many"


def count_sigma(plan: StudyPlan, n_sites: int) -> float:
    """Of the noise on the number of rows at so many sites."""
    return math.sqrt(n_sites) * plan.scales.sum_sigma / plan.scales.count_weight


def components(
    plan: StudyPlan, moments: Mapping[str, AnyArray], centre: tuple[int, ...], n_rows: float
) -> Measured:
    """The leading directions of what the sites' moments add up to.

    moments: Upper triangles of noisy moments, or the directions of `dpdis`, of which P P^T goes
        with a site's rows.
    centre, n_rows: From `centre_and_count`.
    """
    received = [_message(plan, each) for each in _together(plan, list(moments.values()))]
    # No n_s of a site is public, and none is needed: its message is a sum over its rows.
    box = Inbox(np.ones(len(received)))
    for message in received:
        box.receive(message)
    add_up([box])
    sigma = None if plan.is_cut else _sigma_left(plan, len(moments))
    on_grid = np.array(centre, dtype=np.float64)
    bases = () if plan.is_cut else plan.bases
    return leading_of(box.average.matrix, plan.n_components, on_grid, n_rows, sigma, bases)


def views(
    plan: StudyPlan, moments: Mapping[str, AnyArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For a study of two views: `dpcore.cca.canonical_pairs` of what the moments add up to.

    plan: With a `first_view`.
    moments: As in `components`.
    """
    together = _together(plan, list(moments.values()))
    joint = np.sum([_message(plan, each).values for each in together], axis=0)
    floor = noise_floor(joint, _sigma_left(plan, len(moments)), noise="isometric")
    return canonical_pairs(joint, int(plan.first_view or 0), plan.n_components, floor=floor)


def left_out_agreement(
    plan: StudyPlan,
    moments: Mapping[str, AnyArray],
    components: FloatArray,
    bases: Sequence[PublicBasis] = (),
) -> FloatArray:
    """How much of the subspace stays without each site, from 0 to 1; NaN where nobody can know.

    A site that has moved the result by itself stands apart: it lies, or its people are different.

    moments: As in `components`.
    components: shape (n_components, n_features), orthonormal rows. What all gave.
    bases: In which that was denoised.
    Returns: shape (n_sites,)
    """
    parts = _of_each_site(plan, moments)
    if not parts:
        return np.full(len(moments), np.nan)
    everybody = np.sum(parts, axis=0)
    sigma = _sigma_left(plan, len(parts) - 1) if bases else 0.0
    others = [
        Spectrum(everybody - part).denoised(sigma, bases=bases, noise="isometric").matrix
        for part in parts
    ]
    without = [leading_eigenpairs(each, len(components))[1] for each in others]
    return np.array([np.sum((components @ each.T) ** 2) for each in without]) / len(components)


def energy_at_sites(
    plan: StudyPlan, moments: Mapping[str, AnyArray], components: FloatArray
) -> FloatArray:
    """Of each site's message, its energy along the components over the most that as many could
    have; NaN where nobody can know.

    Their median is what a typical site gets: fewer than half of the sites, whatever they send,
    cannot make a bad result look good for it.

    moments: As in `components`.
    components: shape (n_components, n_features), orthonormal rows
    Returns: shape (n_sites,)
    """
    parts = _of_each_site(plan, moments)
    if not parts:
        return np.full(len(moments), np.nan)
    most = [leading_eigenpairs(part, len(components))[0].sum() for part in parts]
    along = [np.einsum("kd,de,ke->", components, part, components) for part in parts]
    return np.divide(along, most)


def _of_each_site(plan: StudyPlan, moments: Mapping[str, AnyArray]) -> list[FloatArray]:
    """The second moment of each message; none where a message by itself says nothing."""
    if plan.is_masked or plan.is_chain:
        return []
    messages = [_message(plan, each) for each in moments.values()]
    return [each.values if each.whole else each.values @ each.values.T for each in messages]


def _sigma_left(plan: StudyPlan, n_sites: int) -> float:
    """Of the noise on the diagonal of what so many whole moments add up to."""
    return math.sqrt(n_sites) * plan.scales.diagonal_sigma / LENGTH**2


def _together(plan: StudyPlan, moments: list[AnyArray]) -> list[AnyArray]:
    """Messages of which the second moments are to be added up."""
    if plan.is_chain:
        # The last one is an average over all sites that it came by.
        return [moments[-1] * math.sqrt(len(moments))]
    return [added_up(moments)] if plan.is_masked else moments


def _message(plan: StudyPlan, values: AnyArray) -> SiteMessage:
    if plan.is_cut:
        return SiteMessage(values, 1, 0.0)
    return SiteMessage(symmetric_from(values, plan.n_features) / LENGTH**2, 1, 0.0, whole=True)


def _post_processing(plan: StudyPlan, result: Mapping[str, Any]) -> dict[str, Any]:
    """Of messages that are cut each site decides by its own noisy matrix, and does not say."""
    if plan.is_cut:
        return {"denoised_in": [basis.name for basis in plan.bases], "by": "sites"}
    # Results of earlier versions say nothing, and denoised nothing.
    names = result.get("denoised_in", ())
    return {"denoised_in": [str(name) for name in names], "by": "hub"}


def study_certificate(
    plan: StudyPlan, n_attempts: int, result: Mapping[str, AnyArray]
) -> dict[str, Any]:
    """The certificate of a study that has ended well, as a JSON document.

    result: As the hub keeps it.
    """
    scales, n_attempts = plan.scales, max(n_attempts, 1)
    worst = max(plan.epsilon_against(who) for who in Adversary)
    together = of_attempts(plan, n_attempts)
    components = np.ascontiguousarray(result["components"], "<f8")
    return {
        "form": FORM,
        "study": plan.name,
        "plan": plan.digest,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "promise": f"An attempt is (ε = {say_number(worst)}, δ = {say_delta(plan.delta)})-"
        "differentially private for every person at a site that took part.",
        "relation": relation(scales.rows_per_person),
        "person": who_is_one(plan.dictionary.person),
        "protocol": plan.protocol,
        "delta": plan.delta,
        "against": {
            who.value: {"epsilon": plan.epsilon_against(who), "noises_it_lacks": plan.unknown(who)}
            for who in Adversary
        },
        "attempts": n_attempts,
        "epsilon_of_all_attempts": together if math.isfinite(together) else None,
        "all_attempts": OF_ALL_ATTEMPTS,
        "sites": {"answered": [str(site) for site in result["sites"]], "of": list(plan.sites),
                  "fewest": plan.fewest, "honest": plan.honest},
        "noise_of_a_site": {each.name: getattr(scales, each.name) for each in fields(scales)},
        "distance": plan.distance,
        **how_prepared(plan),
        "post_processing": _post_processing(plan, result),
        "result": {
            "components": len(components),
            "components_sha256": sha256(components.tobytes()).hexdigest(),
            "eigenvalues": np.asarray(result["eigenvalues"]).tolist(),
            "noisy_rows": float(result["n_rows"]),
            "noisy_rows_sigma": count_sigma(plan, len(result["sites"])),
        },
        "assumptions": [*(each for each in ASSUMPTIONS if each != READER_ALONE), *OF_SITES],
        "software": software(),
    }  # fmt: skip


def study_label(
    plan: StudyPlan, certificate: Mapping[str, Any], *, is_simulation: bool = False
) -> Label:
    """The privacy label of a study that has ended well: of all its attempts together.

    certificate: From `study_certificate`.
    is_simulation: Whether the rows are nobody's secret.
    """
    n_attempts, answered = certificate["attempts"], certificate["sites"]["answered"]
    worst = max(plan.epsilon_against(who) for who in Adversary)
    guarantee = Guarantee(
        PrivacyBudget(plan.epsilon, plan.delta),
        worst if n_attempts == 1 else of_attempts(plan, n_attempts),
        plan.delta,
        # Of several attempts an odometer says epsilon at delta, and no more is known.
        "gaussian" if n_attempts == 1 else "composed",
        "every site",
        against=tuple(
            Against(who, _seen(plan, who), plan.epsilon_against(who)) for who in Adversary
        ),
    )
    m, cap = (
        plan.dictionary.at_most,
        "Each site's ledger has a cap of its own and was charged first.",
    )
    return label_of(
        guarantee,
        f"{plan.dictionary.title or plan.name}: a study across {len(plan.sites)} sites",
        is_simulation=is_simulation,
        who=f"Every person at the {len(answered)} sites that took part "
        f"({who_is_one(plan.dictionary.person)})",
        unit=("all rows of one person" if m > 1 else "one row", relation(m)),
        not_protected=(f"Attempts: {n_attempts}. ε of the parties is that of one attempt.",)
        if n_attempts > 1
        else (),
        assumptions=certificate["assumptions"],
        total=f"{n_attempts} attempt{'s' * (n_attempts > 1)}. {cap}",
        checked=(
            "Charged and drawn by each site's guard; ε follows from the plan in integers.",
            NOT_ATTACKED,
        ),
        made=certificate["made"],
        version=certificate["software"]["dpcore"],
    )


def _seen(plan: StudyPlan, who: Adversary) -> str:
    masked = " and the masks and noise of all sites but those counted on" * plan.is_masked
    if who is Adversary.OUTSIDER:
        return "the result"
    if who is Adversary.SITE:
        return f"the result, its own rows and noise{masked}"
    return f"every site's message{masked}"


def of_attempts(plan: StudyPlan, number: int) -> float:
    """Epsilon, at the plan's delta, for people whose site has answered so many attempts.

    How many there are is decided while messages are seen, by whoever falls silent and by a hub
    that begins anew, and no plan of so many was ever fixed: it is an odometer's number. Infinite
    where the samplers' distance leaves too little of delta.
    """
    return counted_epsilon(plan.worst.mu, number, plan.delta, distance=plan.distance)


# The hub: asks the sites, waits no longer than agreed, adds up what came. It holds no row.

JOINING, DONE, FAILED = "joining", "done", "failed"
RESULT, CERTIFICATE, LABEL = "result.npz", "certificate.json", "label"
# What a guard is told that comes with another key than the site's: the key follows.
OTHER_KEY = "has joined with another public key, "
_STATE, _LOCK = "hub.json", "hub.lock"
_MOST_EVENTS = 500


@dataclass(frozen=True)
class HubState:
    """Where a study is.

    phase: {"joining", "sum", "moment", "done", "failed"}
    keys: Public keys of the sites that have joined.
    known: Public keys of those that had joined before the study was reopened.
    attempt: 0 before the first.
    roster: Sites of this attempt.
    answered: Those that have sent what this round asks for.
    refused: Sentences of those that refused it.
    n_rows: Noisy.
    deadline: When this phase ends, in seconds since the epoch.
    why: Of a study that failed, in one sentence.
    sent_bytes: What each site has sent in all.
    events: tuple of (seconds, sentence)
    """

    phase: str
    deadline: float
    keys: dict[str, str] = field(default_factory=dict)
    attempt: int = 0
    roster: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    centre: tuple[int, ...] = ()
    n_rows: float = 0.0
    why: str = ""
    sent_bytes: dict[str, int] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    events: tuple[tuple[float, str], ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.phase in (DONE, FAILED)


class Hub:
    """A study's hub.

    folder: path. Of its state; made if it is not there, gone on with if it is. One that comes back
        while sites join waits for them anew: it was not there to be joined.
    now: Seconds since the epoch.
    is_simulation: Whether the rows are nobody's secret, as its label then says.
    trouble: What keeps it from writing to its folder, in a sentence; it goes on trying.
    Raises `ParameterError` if the folder holds the state of another study, or a damaged one.
    Raises `OSError` if the folder cannot be written.
    """

    def __init__(
        self,
        plan: StudyPlan,
        folder: Path | str,
        *,
        now: Callable[[], float] = time.time,
        is_simulation: bool = False,
    ) -> None:
        self._is_simulation = is_simulation
        self.plan, self.folder, self._now = plan, Path(folder), now
        self._lock = RLock()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trouble = ""
        kept = self._kept()
        self.state = kept or HubState(JOINING, now() + plan.join_seconds)
        if kept is not None and kept.phase == JOINING:
            deadline = now() + plan.join_seconds
            self._change("the hub is back, and waits anew for sites to join", deadline=deadline)
        else:
            self._keep(self.state)

    def reopen(self) -> None:
        """Wait anew for the sites of a study that has failed, with the join files they have.

        A new attempt is drawn and charged anew; a site comes with the key it had.
        Raises `ParameterError` if the study has not failed.
        """
        with self._lock:
            state = self.state
            if state.phase != FAILED:
                raise ParameterError("folder", "of a study that has failed, to reopen", state.phase)
            self._change(
                "the study is reopened",
                phase=JOINING, deadline=self._now() + self.plan.join_seconds, why="",
                known=state.known | state.keys, keys={}, roster=(), answered=(), refused={},
                centre=(), n_rows=0.0,
            )  # fmt: skip

    def join(self, site: str, key: str) -> None:
        """A site is there, with this public key. Joining again changes nothing.

        Raises `FrameError` if it is no site of the study, or comes with another key, or too late.
        """
        if site not in self.plan.sites:
            raise FrameError("a site that the study does not know")
        if not is_key(key):
            raise FrameError(f"{site} joined with something that is no public key")
        with self._lock:
            known = (self.state.known | self.state.keys).get(site, key)
            if known != key:
                raise FrameError(
                    f"{site} {OTHER_KEY}{known}: start its guard with the --project folder of the "
                    f"first time, where {self.plan.name}-key.bin holds that key"
                )
            if site not in self.state.keys:
                if self.state.phase != JOINING:
                    raise FrameError(f"{site} came after the study had begun")
                self._change(f"{site} has joined", keys=self.state.keys | {site: key})
            self.tick()

    def asks(self, site: str) -> Request | None:
        """What this site is asked now, if anything."""
        with self._lock:
            asked = self._waiting[:1] if self._in_chain else self._waiting
            return self.request if site in asked else None

    @property
    def _waiting(self) -> list[str]:
        """Those from whom this round still wants an answer, in the plan's order."""
        state = self.state
        there = state.roster if state.phase in (SUM, MOMENT) else ()
        return [site for site in there if site not in (*state.answered, *state.refused)]

    @property
    def _in_chain(self) -> bool:
        """Whether one site is asked after the other, each with a deadline of its own."""
        return self.plan.is_chain and self.state.phase == MOMENT

    @property
    def request(self) -> Request:
        """Of this round."""
        state = self.state
        keys = {site: state.keys[site] for site in state.roster}
        centre = state.centre if state.phase == MOMENT else ()
        request = Request(self.plan.digest, state.attempt, state.phase, state.roster, keys, centre)
        if not (self._in_chain and state.answered):
            return request
        last = state.answered[-1]
        handed = self._values((last,), request)[last].tobytes().hex()
        return replace(request, handed=handed, links=len(state.answered))

    def receive(self, site: str, request_id: str, raw: bytes) -> None:
        """A site's message. One that was received already changes nothing.

        Raises `FrameError` naming the site, if it is not what the site was asked for.
        """
        with self._lock:
            if self.asks(site) is None or request_id != self.request.id:
                if self._path(request_id, site).exists():
                    return
                raise FrameError(f"{site} sent {request_id[:40]!r}, which it is not asked for")
            values_from(raw, self.plan, self.request, site)
            self._write(self._path(request_id, site), raw)
            sent = self.state.sent_bytes
            self._change(
                f"{site} sent {len(raw):,} bytes",
                answered=(*self.state.answered, site),
                sent_bytes=sent | {site: sent.get(site, 0) + len(raw)},
                **self._next_deadline(),
            )
            self.tick()

    def refuse(self, site: str, request_id: str, sentence: str) -> None:
        """A site that does not answer what it was asked."""
        with self._lock:
            if self.asks(site) is not None and request_id == self.request.id:
                said = " ".join(str(sentence)[:300].split())
                refused = self.state.refused | {site: said}
                self._change(f"{site} refuses: {said}", refused=refused, **self._next_deadline())
                self.tick()

    def tick(self) -> None:
        """What follows from who has answered and from the time.

        Nothing is raised: what cannot be written is tried again with the next tick, and what
        arithmetic cannot do ends the study with that for a reason.
        """
        with self._lock, suppress(OSError):  # `_write` has said it
            try:
                self._advance()
            except OSError:
                raise
            except FrameError as error:
                self._fail(str(error))
            except Exception as error:  # noqa: BLE001, a study must end, whatever was met
                met = f"{type(error).__name__}: {shortened(str(error))}"
                self._fail(f"what the sites sent cannot be worked with ({met})")

    def _advance(self) -> None:
        state, longest = self.state, self.plan.round_seconds
        if state.phase == JOINING:
            longest = self.plan.join_seconds
        if not state.has_ended and state.deadline > self._now() + longest:
            self._change("the clock was set back", deadline=self._now() + longest)
            state = self.state
        if state.phase == JOINING:
            if len(state.keys) == len(self.plan.sites) or self._now() >= state.deadline:
                self._begin(tuple(site for site in self.plan.sites if site in state.keys))
        elif state.phase in (SUM, MOMENT):
            is_late = self._now() >= state.deadline
            if is_late and self._in_chain and len(self._waiting) > 1:
                late = {self._waiting[0]: "no answer in time"}
                sentence = f"{self._waiting[0]} did not answer in time, and the next is asked"
                self._change(sentence, refused=state.refused | late, **self._next_deadline())
            elif is_late or not self._waiting:
                self._end_round(state)

    def _next_deadline(self) -> dict[str, float]:
        return {"deadline": self._now() + self.plan.round_seconds} if self._in_chain else {}

    def _begin(self, roster: tuple[str, ...]) -> None:
        """An attempt among these sites, drawn and charged anew."""
        attempt = self.state.attempt + 1
        if len(roster) < int(self.plan.fewest or 0):
            self._fail(f"only {len(roster)} sites are left of the {self.plan.fewest} agreed on")
        elif attempt > MOST_ATTEMPTS:
            self._fail(f"{MOST_ATTEMPTS} attempts have failed")
        else:
            self._change(
                f"attempt {attempt} begins among {len(roster)} sites",
                phase=SUM, attempt=attempt, roster=roster, answered=(), refused={}, centre=(),
                deadline=self._now() + self.plan.round_seconds,
            )  # fmt: skip

    def _end_round(self, state: HubState) -> None:
        there = tuple(site for site in state.roster if site in state.answered)
        for site in state.roster:
            if site not in (*there, *state.refused):
                self._change(f"{site} did not answer in time")
        if there != state.roster and self.plan.is_masked:
            # Masks of those who are missing stay in the sum: it says nothing.
            self._begin(there)
        elif len(there) < int(self.plan.fewest or 0):
            self._fail(f"only {len(there)} sites answered of the {self.plan.fewest} agreed on")
        elif state.phase == SUM:
            sums = self._values(there, self.request)
            require_possible_sum(self.plan, sums)
            centre, n_rows = centre_and_count(self.plan, sums)
            counted = count_in_words(self.plan, n_rows, len(there))
            self._change(
                f"the centre is known, and the number of rows: {counted}",
                phase=MOMENT, roster=there, answered=(), centre=centre, n_rows=n_rows,
                deadline=self._now() + self.plan.round_seconds,
            )  # fmt: skip
        else:
            self._finish(there)

    def _finish(self, there: tuple[str, ...]) -> None:
        state = self.state
        values = self._values(there, self.request)
        require_possible_moment(self.plan, values, state.n_rows)
        found = components(self.plan, values, state.centre, state.n_rows)
        arrays: dict[str, Any] = {name: estimate_of(found, name) for name in ESTIMATES} | {
            "components": found.components, "eigenvalues": found.eigenvalues,
            "centre": found.centre, "n_rows": found.n_rows, "sites": np.array(there),
            "features": np.array(self.plan.dictionary.features),
            "left_out_agreement": left_out_agreement(
                self.plan, values, found.components, found.bases
            ),
            "denoised_in": np.array([basis.name for basis in found.bases], dtype=str),
            "energy_at_sites": energy_at_sites(self.plan, values, found.components),
        }  # fmt: skip
        if self.plan.first_view is not None:
            names = "x_rotations", "y_rotations", "correlations"
            arrays |= dict(zip(names, views(self.plan, values), strict=True))
        file = BytesIO()
        np.savez(file, **arrays)
        certificate = study_certificate(self.plan, state.attempt, arrays)
        self._write(self.folder / RESULT, file.getvalue())
        self._write(self.folder / CERTIFICATE, json.dumps(certificate, indent=1).encode())
        label = study_label(self.plan, certificate, is_simulation=self._is_simulation)
        self._write(self.folder / f"{LABEL}.json", as_json(label.as_dict()))
        self._write(self.folder / f"{LABEL}.html", label_page(label).encode())
        self._change(f"components from {len(there)} sites", phase=DONE, answered=there)

    def _fail(self, why: str) -> None:
        self._change(f"the study failed: {why}", phase=FAILED, why=why)

    def _values(self, sites: tuple[str, ...], request: Request) -> dict[str, AnyArray]:
        values = {}
        for site in sites:
            try:
                raw = self._path(request.id, site).read_bytes()
            except OSError as error:
                raise FrameError(f"what {site} sent cannot be read again ({error})") from error
            values[site] = values_from(raw, self.plan, request, site)
        return values

    def _path(self, request_id: str, site: str) -> Path:
        name = request_id if is_request_id(request_id) else "unknown"
        return self.folder / name / f"{site}.bin"

    def _change(self, sentence: str, **changes: Any) -> None:
        events = (*self.state.events, (self._now(), sentence))[-_MOST_EVENTS:]
        state = replace(self.state, events=events, **changes)
        self._keep(state)
        self.state = state

    def _keep(self, state: HubState) -> None:
        content = {"study": self.plan.digest, **asdict(state)}
        self._write(self.folder / _STATE, json.dumps(content).encode())

    def _write(self, path: Path, content: bytes) -> None:
        """All of it or nothing, on the disk when this returns."""
        partial = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(exist_ok=True)
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
            sync_folder(path.parent)
        except OSError as error:
            self.trouble = f"{path} cannot be written ({error.strerror or error})"
            raise
        self.trouble = ""

    def _kept(self) -> HubState | None:
        path = self.folder / _STATE
        if not path.exists():
            return None
        try:
            content = dict(json.loads(path.read_bytes()))
        except (ValueError, TypeError, RecursionError) as error:
            raise ParameterError("folder", f"one with a sound {_STATE}", str(path)) from error
        if content.pop("study", None) != self.plan.digest:
            raise ParameterError("folder", "empty, or of this very study", str(self.folder))
        tuples = {name: tuple(content[name]) for name in ("roster", "answered", "centre")}
        events = tuple((at, what) for at, what in content["events"])
        return HubState(**content | tuples | {"events": events})


@contextmanager
def only_hub(folder: Path | str) -> Iterator[None]:
    """No other program is the hub of this folder until the context is left.

    Raises `ParameterError` if one is.
    """
    try:
        import fcntl
    except ImportError:  # not on this system: nobody is kept out
        yield
        return
    with (Path(folder) / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ParameterError(
                "folder", "one whose hub is not running already", str(folder)
            ) from error
        yield
