"""Contents of a release's certificate: the guarantee and the numbers from which it follows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.pca.assessment import LEVEL
from dpcore.pca.centre_rule import DIFFERENCES, MEAN, NO_CENTRE
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label import FORM as LABEL_FORM
from dpcore.release.dictionary import Dictionary
from dpcore.release.integer_rows import GRID
from dpcore.release.measurement import ESTIMATES, Measured, estimate_of
from dpcore.release.project import Total
from dpcore.release.scales import Scales
from dpcore.release.settings import PublicationSettings
from dpcore.release.software import software

FORM = "dp-pca-lab/certificate/1"
# Centres of the rows in words.
CENTRE_WORDS = {
    MEAN: "a private mean",
    DIFFERENCES: "none, since differences of random pairs of rows were taken",
    NO_CENTRE: "the public middle of the columns",
}
READER_ALONE = (
    "The reader sees the release, and neither the memory of the computer that made it nor how long "
    "it took. Refusals and what the command says of the table are for the holder alone."
)


ASSUMPTIONS = tuple(
    f"""\
The dictionary was written without looking at the table: limits, levels, middles, the norm bound \
and the number of rows a person may have are public.
Rows that belong to one person carry one name in the person column, or each person has one row \
where there is no such column.
Epsilon, delta, the number of components, the preparation and the time of the release were chosen \
without looking at the table, or from earlier releases of this project alone.
All that was ever released about these people is in this project's ledger, which was never set back.
The operating system's random numbers are uniform, and unknown to every reader of the release.
{READER_ALONE}
The processor adds, multiplies and divides double-precision numbers as IEEE 754 prescribes.
""".splitlines()
)


def certificate_of(
    name: str,
    dictionary: Dictionary,
    scales: Scales,
    measured: Measured,
    *,
    settings: PublicationSettings,
    epsilon: float,
    total: Total,
) -> dict[str, Any]:
    """Return the certificate of a release, without the hashes of its files.

    epsilon: Exact epsilon at the requested delta.
    total: Total of the project, with this release.
    """
    return {
        "form": FORM,
        "name": name,
        "title": dictionary.title,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": say_guarantee(epsilon, settings.delta, scales.rows_per_person),
        "epsilon": epsilon,
        "delta": settings.delta,
        "requested": {"epsilon": settings.epsilon, "delta": settings.delta},
        "relation": relation(scales.rows_per_person),
        "mechanism": mechanism_of(scales),
        **preparation_entry(settings, measured.centre_choice),
        "post_processing": {"denoised_in": [basis.name for basis in measured.bases]},
        "result": {
            "components": len(measured.components),
            "noisy_rows": measured.n_rows,
            "eigenvalues": measured.eigenvalues.tolist(),
            "trace": measured.trace,
            **noise_of(scales),
            **estimates_entry({name: estimate_of(measured, name) for name in ESTIMATES}),
            **_of_subspace(measured),
        },
        "total": asdict(total),
        "label": LABEL_FORM,
        "assumptions": list(ASSUMPTIONS),
        "dictionary": dictionary.as_dict(),
        "software": software(),
    }


def preparation_entry(settings: Any, centre: str = MEAN) -> dict[str, Any]:
    """Return the entry about centring and bounding rows.

    settings: `PublicationSettings`, or `FederatedPlan`, which has the same fields.
    centre: Item of `dpcore.pca.centre_rule.CENTRES`.
    """
    return {
        "preparation": {
            "name": settings.preparation,
            "centre": centre,
            "mean_share": settings.mean_share,
        }
    }


def mean_share_of(certificate: Mapping[str, Any]) -> float:
    """Return the part of the budget for the private centre that a certificate states."""
    return float(certificate["preparation"]["mean_share"])


def mechanism_of(scales: Scales) -> dict[str, Any]:
    """Return the integers of the mechanism, and the numbers that follow from them."""
    m, n_moments = scales.rows_per_person, 2 if scales.of_differences else 1
    return {
        "name": "Gaussian, rounded to whole numbers",
        "grid": GRID,
        **{field.name: getattr(scales, field.name) for field in fields(scales)},
        "count_weight": scales.count_weight,
        "diagonal_sigma": scales.diagonal_sigma,
        "sum_sensitivity": f"2 m R = {2 * m * math.sqrt(scales.squared_norm)}",
        "moment_sensitivity": f"{'2' if scales.of_differences else ''}√2 m L² = "
        f"{n_moments * math.sqrt(2) * m * scales.length**2}",
        "mu": scales.mu,
        "draws": scales.n_draws,
        "distance": scales.distance,
    }


def noise_of(scales: Scales) -> dict[str, float]:
    """Return the scale of the noise in the result."""
    return {
        "noisy_rows_sigma": scales.sum_sigma / scales.count_weight,
        # Wigner's edge: the largest eigenvalue of a matrix that is only noise.
        "noise_edge": 2 * scales.moment_sigma * math.sqrt(scales.n_features) / scales.length**2,
    }


def estimates_entry(estimates: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return the estimates of each component with both ends of their intervals, or null.

    estimates: One array for each of `ESTIMATES`, shape (3, n_components).
    """
    columns = {name: [_json(interval) for interval in estimates[name].T] for name in ESTIMATES}
    return {"interval_level": LEVEL, **columns}


def _of_subspace(measured: Measured) -> dict[str, Any]:
    assessment = measured.assessment
    shares = (
        {}
        if assessment is None
        else {"captured": assessment.captured_share, "of_best": assessment.energy_ratio}
    )
    return {
        **{
            name: _json(np.append(share.value, share.interval)) if share else None
            for name, share in ({"captured": None, "of_best": None} | shares).items()
        },
        "above_noise": measured.n_above_noise,
    }


def _json(numbers: FloatArray) -> list[float] | None:
    return None if np.isnan(numbers[0]) else numbers.tolist()


def post_processing(certificate: dict[str, Any]) -> str:
    """Describe the post-processing of the noisy second moment, which reads no exact values."""
    bases = certificate["post_processing"]["denoised_in"]
    if not bases:
        return "Eigendecomposition of the noisy second moment."
    return (
        "Eigendecomposition of the noisy second moment, denoised first: each entry was shrunk by "
        f"what the noise's law and the noisy matrix itself say, in the basis of {bases[0]}"
        f"{' and then of ' + bases[1] if len(bases) > 1 else ''}."
    )


def relation(rows_per_person: int) -> str:
    """Describe the neighbouring relation."""
    rows = "one row" if rows_per_person == 1 else f"at most {rows_per_person} rows"
    return (
        f"Tables are neighbours if all rows of one person are replaced, added or removed; of each "
        f"person {rows} may be in the release."
    )


def describe_person(person: str | None) -> str:
    """Describe a protected person, which depends on the dictionary's person column.

    person: Column that names people.
    """
    return "each row is another" if person is None else f"each name in “{person}” is a person"


def say_guarantee(epsilon: float, delta: float, rows_per_person: int) -> str:
    """Return the guarantee as one sentence, with numbers rounded up."""
    who = "one row" if rows_per_person == 1 else f"at most {rows_per_person} rows"
    return (
        f"This release is (ε = {say_number(epsilon)}, δ = {say_delta(delta)})-differentially "
        f"private for every person, with {who} each, against every reader."
    )


def as_json(document: dict[str, Any]) -> bytes:
    """Return the content of a certificate file."""
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
