"""Settings of a release."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore.params import param


@dataclass(frozen=True)
class PublicationSettings:
    """Settings of a release, without the table and its dictionary."""

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

    scores_share: float = param(
        0.0,
        "Part of the budget for a score plot of the people on the first two components",
    )

    @property
    def on_sphere(self) -> bool:
        """Whether rows are scaled to one length around the private centre."""
        return self.preparation == "sphere"
