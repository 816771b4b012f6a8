"""The certificate: what a release promises, in numbers from which it can be computed again.

The same as a page for people: one HTML file that loads nothing, with room to sign.
"""

from __future__ import annotations

import ast
import json
import math
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import dpcore
from dpcore.arrays import FloatArray
from dpcore.params import param
from dpcore.pca.assessment import LEVEL
from dpcore.privacy import Guarantee, PrivacyBudget
from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label import FORM as LABEL_FORM
from dpcore.privacy.label import Label, Sight, label_card, label_of
from dpcore.release.dictionary import Dictionary
from dpcore.release.exact import GRID
from dpcore.release.measurement import TOLD, Measured, Scales, told_of
from dpcore.release.project import Total

FORM = "dp-pca-lab/certificate/2"
# Its total gave an epsilon of all releases so far, which held of a plan fixed beforehand alone.
FORM_OF_PLANS = "dp-pca-lab/certificate/1"

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
.promise { font-size: 1.15rem; border-left: 4px solid #2a78d6; padding-left: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
         border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
th { font-weight: 500; width: 16rem; }
.sign { margin-top: 3rem; display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; }
.sign div { border-top: 1px solid; padding-top: .3rem; }
"""
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
All that was ever released about these people is in this project's ledger, which nobody set back.
The operating system's random numbers are uniform, and unknown to whoever reads the release.
{READER_ALONE}
The processor adds, multiplies and divides double-precision numbers as IEEE 754 prescribes.
""".splitlines()
)


@dataclass(frozen=True)
class PublicationSettings:
    """What a release is asked for, apart from whose rows they are."""

    epsilon: float
    delta: float
    n_components: int
    preparation: str = param(
        "sphere",
        "Rows around the private centre",
        "At one length (sphere), or as long as they are up to the public bound (bounded)",
        choices=("sphere", "bounded"),
    )
    mean_share: float = param(0.1, "Part of the budget for the private centre and count")
    denoise: str = param(
        "auto",
        "Take likely noise out of the noisy matrix before it is decomposed, where that captures "
        "more (auto); none decomposes it as it is",
        choices=("auto", "none"),
    )

    @property
    def on_sphere(self) -> bool:
        """Whether rows get one length around the private centre."""
        return self.preparation == "sphere"


def certificate_of(
    name: str,
    dictionary: Dictionary,
    scales: Scales,
    measured: Measured,
    *,
    asked: PublicationSettings,
    epsilon: float,
    total: Total,
) -> dict[str, Any]:
    """The certificate of a release, but for the hashes of its files.

    epsilon: What holds at the asked delta.
    total: Of the project, with this release.
    """
    return {
        "form": FORM,
        "name": name,
        "title": dictionary.title,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "promise": promise(epsilon, asked.delta, scales.rows_per_person),
        "epsilon": epsilon,
        "delta": asked.delta,
        "asked": {"epsilon": asked.epsilon, "delta": asked.delta},
        "relation": relation(scales.rows_per_person),
        "mechanism": mechanism_of(scales),
        **how_prepared(asked),
        "post_processing": {"denoised_in": [basis.name for basis in measured.bases]},
        "result": {
            "components": len(measured.components),
            "noisy_rows": measured.n_rows,
            "eigenvalues": measured.eigenvalues.tolist(),
            "trace": measured.trace,
            **noise_of(scales),
            **explained({name: told_of(measured, name) for name in TOLD}),
            **_of_subspace(measured),
        },
        "total": asdict(total),
        "label": LABEL_FORM,
        "assumptions": list(ASSUMPTIONS),
        "dictionary": dictionary.as_dict(),
        "software": software(),
    }


def how_prepared(asked: Any) -> dict[str, Any]:
    """The entry on how rows were centred and bounded.

    asked: `PublicationSettings`, or a study's plan, which has the same fields.
    """
    return {"preparation": {"name": asked.preparation, "mean_share": asked.mean_share}}


def mean_share_of(certificate: Mapping[str, Any]) -> float:
    """The part of the budget for the private centre, as a certificate states it."""
    return float(certificate["preparation"]["mean_share"])


def mechanism_of(scales: Scales) -> dict[str, Any]:
    """What was drawn, in whole numbers, and what follows from them."""
    m = scales.rows_per_person
    return {
        "name": "Gaussian, rounded to whole numbers",
        "grid": GRID,
        **{each.name: getattr(scales, each.name) for each in fields(scales)},
        "count_weight": scales.count_weight,
        "diagonal_sigma": scales.diagonal_sigma,
        "sum_sensitivity": f"2 m R = {2 * m * math.sqrt(scales.squared_norm)}",
        "moment_sensitivity": f"√2 m L² = {math.sqrt(2) * m * scales.length**2}",
        "mu": scales.mu,
        "draws": scales.n_draws,
        "distance": scales.distance,
    }


def noise_of(scales: Scales) -> dict[str, float]:
    """How far noise alone reaches in the result."""
    return {
        "noisy_rows_sigma": scales.sum_sigma / scales.count_weight,
        # Eigenvalues of nothing but this noise would reach so far (Wigner's edge).
        "noise_edge": 2 * scales.moment_sigma * math.sqrt(scales.n_features) / scales.length**2,
    }


def explained(told: Mapping[str, FloatArray]) -> dict[str, Any]:
    """What the release says of each component: values with both ends of their intervals, or null.

    told: Of each of `TOLD`, shape (3, n_components).
    """
    columns = {name: [_json(each) for each in told[name].T] for name in TOLD}
    return {"interval_level": LEVEL, **columns}


def _of_subspace(measured: Measured) -> dict[str, Any]:
    told = measured.told
    shares = {} if told is None else {"captured": told.captured_share, "of_best": told.energy_ratio}
    return {
        **{
            name: _json(np.append(each.value, each.interval)) if each else None
            for name, each in ({"captured": None, "of_best": None} | shares).items()
        },
        "above_noise": None if told is None else told.n_above_noise,
    }


def _json(numbers: FloatArray) -> list[float] | None:
    return None if np.isnan(numbers[0]) else numbers.tolist()


def post_processing(certificate: dict[str, Any]) -> str:
    """What was done to the noisy second moment, in words; it reads nothing exact."""
    # Those of earlier versions say nothing, and did nothing.
    bases = certificate.get("post_processing", {"denoised_in": []})["denoised_in"]
    if not bases:
        return "Eigendecomposition of the noisy second moment."
    return (
        "Eigendecomposition of the noisy second moment, denoised first: each entry was shrunk by "
        f"what the noise's law and the noisy matrix itself say, in the basis of {bases[0]}."
    )


def relation(rows_per_person: int) -> str:
    """Whose change goes unnoticed, in words."""
    kept = "one row" if rows_per_person == 1 else f"at most {rows_per_person} rows"
    return (
        f"Tables are neighbours if all rows of one person are replaced, added or removed; of each "
        f"person {kept} may be in the release."
    )


def who_is_one(person: str | None) -> str:
    """Who is protected together, in words: that is the dictionary's to say, and can be said wrong.

    person: The column that names people.
    """
    return "each row is another" if person is None else f"whoever “{person}” names"


def promise(epsilon: float, delta: float, rows_per_person: int) -> str:
    """The guarantee as one sentence, its numbers rounded up."""
    who = "one row" if rows_per_person == 1 else f"at most {rows_per_person} rows"
    return (
        f"This release is (ε = {say_number(epsilon)}, δ = {say_delta(delta)})-differentially "
        f"private for every person, with {who} each, against whoever reads it."
    )


def software() -> dict[str, str]:
    """Versions, and what identifies the code that ran."""
    packages = {name: version(name) for name in ("numpy", "scipy", "pyarrow")}
    return {"dpcore": dpcore.__version__, "commit": _commit(), "code": _code(),
            "python": platform.python_version(), **packages}  # fmt: skip


@cache
def _code() -> str:
    """SHA-256 of the package's programs."""
    package, digest = Path(dpcore.__file__).parent, sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


# What is made of a release once its noise is on it: it can break no promise.
AFTER_THE_NOISE = (
    "dpcore.pca.assessment",
    "dpcore.privacy.label",
    "dpcore.release.released_pca",
    "dpcore.spectra",
)


def promise_code() -> dict[str, int]:
    """The programs that a release's promise rests on, with their lines: what reads rows, bounds
    them, draws the noise, charges it and says so.

    All that `dpcore.release.publication` imports, each name from where it is defined, but for what
    comes after the noise. The certificate's hash is of the whole package: whatever is imported
    runs.
    """
    found: dict[str, int] = {}
    waiting = ["dpcore.release.publication"]
    while waiting:
        module = waiting.pop()
        file = _file_of(module)
        is_after = any(f"{module}.".startswith(f"{each}.") for each in AFTER_THE_NOISE)
        if file is None or is_after or _named(file) in found:
            continue
        text = file.read_text(encoding="utf-8")
        found[_named(file)] = len(text.splitlines())
        waiting += (_home_of(name, of) for of, name in _imported(text))
    return dict(sorted(found.items()))


def _file_of(module: str) -> Path | None:
    place = Path(dpcore.__file__).parent.joinpath(*module.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _named(file: Path) -> str:
    return file.relative_to(Path(dpcore.__file__).parents[1]).as_posix()


def _imported(text: str) -> Iterator[tuple[str, str]]:
    """Modules of this package and the names taken from them, but for types alone."""
    tree = ast.parse(text)
    types = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in types:
            module = node.module or ""
            if module.split(".")[0] == "dpcore":
                yield from ((module, alias.name) for alias in node.names)


def _home_of(name: str, module: str) -> str:
    """The module that defines what another hands on."""
    if _file_of(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    file = _file_of(module)
    if file is not None and file.name == "__init__.py":
        for of, each in _imported(file.read_text(encoding="utf-8")):
            if each == name:
                return _home_of(name, of)
    return module


@cache
def _commit() -> str:
    """Of the repository the package lies in, with "-dirty" where files were changed; or nothing."""
    package = Path(dpcore.__file__).parent
    command = ["git", "-C", str(package), "describe", "--always", "--dirty", "--abbrev=40",
               "--exclude=*"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def as_json(document: dict[str, Any]) -> bytes:
    """The file of a certificate."""
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def certificate_page(certificate: dict[str, Any]) -> str:
    """The page of a certificate."""
    title = escape(certificate["title"] or certificate["name"])
    assumptions = "".join(f"<li>{escape(each)}</li>" for each in certificate["assumptions"])
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Certificate: {title}</title><style>{_STYLE}</style>
<h1>{title}</h1><p>Release “{escape(certificate["name"])}”, {escape(certificate["made"])}</p>
<p class="promise">{escape(certificate["promise"])}</p>
<p>{escape(certificate["relation"])}</p>
{_label(certificate)}<h2>Privacy</h2>{_table(_privacy(certificate))}
<h2>It holds if</h2><ol>{assumptions}</ol>
<h2>What was released</h2>{_table(_result(certificate))}
<h2>Mechanism</h2>{_table(certificate["mechanism"])}
<h2>Software</h2>{_table(certificate["software"])}
<p>To check: <code>python -m dpcore verify FOLDER</code>.</p>
<div class="sign"><div>Signed off by</div><div>Date</div></div>
</html>
"""


NOT_ATTACKED = (
    "No attack was run on this release; python -m dpcore audit attacks mechanisms of its kind."
)


def label_of_certificate(certificate: dict[str, Any]) -> Label:
    """The privacy label of a release, all of it from its certificate."""
    asked, total, mechanism = (certificate[key] for key in ("asked", "total", "mechanism"))
    m = mechanism["rows_per_person"]
    guarantee = Guarantee(
        PrivacyBudget(asked["epsilon"], asked["delta"]),
        certificate["epsilon"],
        certificate["delta"],
        "gaussian",
        "the holder of the rows",
    )
    return label_of(
        guarantee,
        certificate["title"] or certificate["name"],
        is_simulation=False,
        who=f"Every person in the table ({_person(certificate)})",
        unit=("all rows of one person" if m > 1 else "one row", certificate["relation"]),
        sights=(
            Sight("Holder of the rows", "sites", "every raw row", None, is_trusted=True),
            Sight(
                "Reader", "reader", "components, variances, noisy count, this label",
                certificate["epsilon"],
            ),
        ),
        assumptions=certificate["assumptions"],
        total="; ".join(f"{k}: {v}" for k, v in _of_project(certificate["form"], total).items())
        + ".",
        checked=(
            "Computed again, without the rows, by: python -m dpcore verify FOLDER.",
            NOT_ATTACKED,
        ),
        made=certificate["made"],
        version=certificate["software"]["dpcore"],
    )  # fmt: skip


def _person(certificate: dict[str, Any]) -> str:
    return who_is_one(certificate["dictionary"]["rows"].get("person"))


def _label(certificate: dict[str, Any]) -> str:
    """Nothing on the pages of versions that had no label, which are checked to the byte."""
    if "label" not in certificate:
        return ""
    return f"{label_card(label_of_certificate(certificate))}\n"


def _privacy(certificate: dict[str, Any]) -> dict[str, Any]:
    total, asked = certificate["total"], certificate["asked"]
    return {
        "Holds": f"ε = {say_number(certificate['epsilon'])} at "
        f"δ = {say_delta(certificate['delta'])}",
        "Asked": f"ε = {say_delta(asked['epsilon'])} at δ = {say_delta(asked['delta'])}",
        "A person": _person(certificate),
        **_of_project(certificate["form"], total),
    }


def _of_project(form: str, total: dict[str, Any]) -> dict[str, Any]:
    cap = f"ε = {say_delta(total['cap_epsilon'])} at δ = {say_delta(total['cap_delta'])}"
    if form == FORM_OF_PLANS:
        return {
            "All releases of the project so far": f"ε = {say_number(total['epsilon'])} at "
            f"δ = {say_delta(total['delta'])}",
            "Most that the project may ever spend": cap,
        }
    return {
        "All releases of the project together": f"{cap}: its cap, fixed before the first, which "
        "holds whatever is chosen after seeing some of them",
        "Used of the cap, with this release": f"{share_in_words(total['share'])} (of μ²)",
    }


def share_in_words(share: float) -> str:
    """A part of a cap in percent, rounded up."""
    # What was asked to fill the cap shall say 100 %.
    return f"{math.ceil(1000 * share - 1e-6) / 10:g} %"


def _result(certificate: dict[str, Any]) -> dict[str, Any]:
    result, dictionary = certificate["result"], certificate["dictionary"]
    shares = "; ".join(map(_share, result["explained_variance_ratio"]))
    above = result["above_noise"]
    return {
        "Components": result["components"],
        "Of columns": ", ".join(dictionary["columns"]),
        "Rows (noisy)": f"{result['noisy_rows']:.0f} ± {result['noisy_rows_sigma']:.2g}",
        "Preparation": certificate["preparation"]["name"],
        **_denoising(certificate),
        "Variance that each explains, with its 90 % interval": shares,
        "All together": _share(result["captured"]),
        "Of what the best subspace explains": _share(result["of_best"]),
        "Components that noise alone would not give": "not told" if above is None else above,
    }


def _denoising(certificate: dict[str, Any]) -> dict[str, str]:
    """Of earlier versions a page said nothing of it."""
    if "post_processing" not in certificate:
        return {}
    return {"After the noise": post_processing(certificate)}


def _share(estimate: list[float] | None) -> str:
    if estimate is None:
        return "lost in the noise"
    value, low, high = (100 * each for each in estimate)
    return f"{value:.3g} % ({low:.3g} to {high:.3g})"


def _said(value: object) -> str:
    return say_delta(value) if isinstance(value, float) and 0 < value < 1e-3 else str(value)


def _table(values: dict[str, Any]) -> str:
    rows = (
        f"<tr><th>{escape(str(key).replace('_', ' '))}</th><td>{escape(_said(value))}</td></tr>"
        for key, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"
