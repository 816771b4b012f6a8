"""Certificate of a release as one HTML page that loads nothing, with space for a signature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label_page import label_card
from dpcore.release.certificate import CENTRE_WORDS, post_processing
from dpcore.release.certificate_label import label_of_certificate, name_person, say_total
from dpcore.templates import render


def certificate_page(certificate: dict[str, Any]) -> Markup:
    """Return the HTML page of a certificate."""
    return render(
        Path(__file__).with_name("certificate.html"),
        certificate=certificate,
        title=certificate["title"] or certificate["name"],
        label=label_card(label_of_certificate(certificate)),
        privacy=_privacy(certificate),
        result=_result(certificate),
        format=_format,
    )


def _privacy(certificate: dict[str, Any]) -> dict[str, Any]:
    total, requested = certificate["total"], certificate["requested"]
    return {
        "Holds": f"ε = {say_number(certificate['epsilon'])} at "
        f"δ = {say_delta(certificate['delta'])}",
        "Requested": f"ε = {say_delta(requested['epsilon'])} at "
        f"δ = {say_delta(requested['delta'])}",
        "A person": name_person(certificate),
        **say_total(total),
    }


def _result(certificate: dict[str, Any]) -> dict[str, Any]:
    result, dictionary = certificate["result"], certificate["dictionary"]
    shares = "; ".join(map(_share, result["explained_variance_ratio"]))
    above = result["above_noise"]
    return {
        "Components": result["components"],
        "Of columns": ", ".join(dictionary["columns"]),
        "Rows (noisy)": f"{result['noisy_rows']:.0f} ± {result['noisy_rows_sigma']:.2g}",
        "Preparation": certificate["preparation"]["name"],
        "Centre of the rows": CENTRE_WORDS[certificate["preparation"]["centre"]],
        "After the noise": post_processing(certificate),
        "Variance that each explains, with its 90 % interval": shares,
        "All together": _share(result["captured"]),
        "Of what the best subspace explains": _share(result["of_best"]),
        "Components that noise alone would not give": "not told" if above is None else above,
    }


def _share(estimate: list[float] | None) -> str:
    if estimate is None:
        return "lost in the noise"
    value, low, high = (100 * share for share in estimate)
    return f"{value:.3g} % ({low:.3g} to {high:.3g})"


def _format(value: object) -> str:
    return say_delta(value) if isinstance(value, float) and 0 < value < 1e-3 else str(value)
