"""Registry entry of a release, in the form of the OpenDP Deployments Registry."""

from __future__ import annotations

from typing import Any

from dpcore.privacy.guarantee_in_words import say_delta
from dpcore.release.certificate import CENTRE_WORDS, FORM, describe_person, post_processing

FOR_THE_CURATOR = "(for the curator to say)"


def deployment(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return an entry for the OpenDP Deployments Registry, to be completed by its curator."""
    preparation = certificate["preparation"]["name"]
    centre = CENTRE_WORDS[certificate["preparation"]["centre"]]
    return {
        "status": "Draft",
        "deployment": {
            "product": {
                "name": certificate["title"] or certificate["name"],
                "data_curators": [FOR_THE_CURATOR],
                "intended_use": FOR_THE_CURATOR,
                "data_product_type": "Principal components",
                "description": "Leading principal components of a table of people.",
                "publication_date": certificate["made"][:10],
            },
            "dp_flavor": {
                "name": "Approximate DP",
                "data_domain": "Rows of numbers and levels within the public limits of the "
                "dictionary.",
                "unprotected_quantities": "None: limits, levels and parameters are public and were "
                "fixed without the data.",
            },
            "privacy_loss": {
                "privacy_unit": "User-level",
                "privacy_unit_description": f"{certificate['relation']} A person: "
                f"{describe_person(certificate['dictionary']['rows'].get('person'))}.",
                "privacy_parameters": {
                    "epsilon": certificate["epsilon"],
                    "delta": certificate["delta"],
                },
            },
            "model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": post_processing(certificate),
                "composition": _composition(certificate),
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": "Cells are clipped to public limits; "
                f"the centre of rows ({preparation}) is {centre}.",
                "mechanisms": "Gaussian noise rounded to whole numbers, on whole numbers, from the "
                "operating system's entropy; its distance from the law is inside delta.",
                "justification": "\n".join(certificate["assumptions"]),
            },
        },
    }


def _composition(certificate: dict[str, Any]) -> str:
    mu, total = certificate["mechanism"]["mu"], certificate["total"]
    if certificate["form"] != FORM:
        return (
            f"Gaussian differential privacy: mu = {mu:.6g} for this release, {total['mu']:.6g} for "
            "all of its project, under a filter whose cap was fixed beforehand."
        )
    # The sum of mu so far is the guarantee of a plan fixed in advance, not of adaptive releases.
    return (
        f"Gaussian differential privacy: mu = {mu:.6g} for this release. All releases of its "
        f"project together: epsilon = {say_delta(total['cap_epsilon'])}, "
        f"delta = {say_delta(total['cap_delta'])}, the cap of a privacy filter, fixed before the "
        "first release."
    )
