"""Certificate of a release as one HTML page that loads nothing, with space for a signature."""

from __future__ import annotations

from html import escape
from typing import Any

from dpcore.privacy.guarantee_in_words import say_delta, say_number
from dpcore.privacy.label_page import label_card
from dpcore.release.certificate import CENTRE_WORDS, post_processing
from dpcore.release.certificate_label import label_of_certificate, name_person, say_total

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
.guarantee { font-size: 1.15rem; border-left: 4px solid #2a78d6; padding-left: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
         border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
th { font-weight: 500; width: 16rem; }
.sign { margin-top: 3rem; display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; }
.sign div { border-top: 1px solid; padding-top: .3rem; }
"""


def certificate_page(certificate: dict[str, Any]) -> str:
    """Return the HTML page of a certificate."""
    title = escape(certificate["title"] or certificate["name"])
    assumptions = "".join(f"<li>{escape(each)}</li>" for each in certificate["assumptions"])
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Certificate: {title}</title><style>{_STYLE}</style>
<h1>{title}</h1><p>Release “{escape(certificate["name"])}”, {escape(certificate["made"])}</p>
<p class="guarantee">{escape(certificate["guarantee"])}</p>
<p>{escape(certificate["relation"])}</p>
{label_card(label_of_certificate(certificate))}
<h2>Privacy</h2>{_table(_privacy(certificate))}
<h2>It holds if</h2><ol>{assumptions}</ol>
<h2>What was released</h2>{_table(_result(certificate))}
<h2>Mechanism</h2>{_table(certificate["mechanism"])}
<h2>Software</h2>{_table(certificate["software"])}
<p>To check: <code>python -m dpcore verify FOLDER</code>.</p>
<div class="sign"><div>Signed off by</div><div>Date</div></div>
</html>
"""


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
    value, low, high = (100 * each for each in estimate)
    return f"{value:.3g} % ({low:.3g} to {high:.3g})"


def _format(value: object) -> str:
    return say_delta(value) if isinstance(value, float) and 0 < value < 1e-3 else str(value)


def _table(values: dict[str, Any]) -> str:
    rows = (
        f"<tr><th>{escape(str(key).replace('_', ' '))}</th><td>{escape(_format(value))}</td></tr>"
        for key, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"
