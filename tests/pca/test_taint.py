"""All results after the noise are functions of noisy values, and of no exact ones."""

import numpy as np
import pytest

from dpcore.pca import Draw, ReleaseSettings
from dpcore.pca import draw as draw_module
from dpcore.pca import site as site_module
from dpcore.pca.protocols import first_site, pooled_release
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.pca.settings import bases_to_denoise_in
from dpcore.privacy import PrivacyBudget
from dpcore.spectra import SiteRows
from dpcore.streams import Repetition

SHAPE = (5, 6)
MODULES = (site_module, draw_module, first_site, pooled_release)
CHOICES = {"pictures": ("auto", SHAPE), "table": ("auto", None), "cosines": ("cosines", SHAPE)}


class Noise:
    """Recorder of released values, which can also replace them by recorded ones."""

    def __init__(self, monkeypatch):
        self.released, self.at = [], None
        for name in ("add_noise", "noisy_mean", "noisy_votes"):
            record = self.recording(getattr(site_module, name))
            for module in MODULES:
                monkeypatch.setattr(module, name, record, raising=False)

    def recording(self, release):
        if getattr(release, "is_recording", False):
            return release

        def record(*arguments, **options):
            if self.at is None:
                self.released.append(np.array(release(*arguments, **options)))
                return self.released[-1].copy()
            self.at += 1
            return self.released[self.at - 1].copy()

        record.is_recording = True
        return record


def rows(rng, scale):
    drawn = rng.standard_normal((90, 30)) @ np.diag(np.linspace(1, 0.1, 30)) * scale
    # The votes of the pairs of one sign differ from those of the other.
    drawn[:, 0] += 10 * (scale < 0)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    sites = tuple(np.array_split(np.arange(90), 3))
    return SiteRows.of(drawn, sites, np.ones(30), image_shape=SHAPE)


@pytest.mark.parametrize("mean_share", [0.0, 0.1, None])
@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("key", ["dpdis", "full", "pooled", "local", "sequential", "coded"])
def test_a_release_is_the_same_to_the_bit_if_only_its_noisy_values_are(
    monkeypatch, rng, key, choice, mean_share
):
    entry = PROTOCOLS[key]
    settings = ReleaseSettings(
        PrivacyBudget(20.0 if mean_share is None else 1.0, 1e-5),
        3,
        6,
        on_sphere=True,
        mean_share=mean_share,
        centred_by="votes",
        bases=bases_to_denoise_in(*choice),
    )
    noise = Noise(monkeypatch)
    collected = []
    for data in (rows(rng, 1.0), rows(rng, -3.0)):
        draw = Draw(
            data,
            settings,
            Repetition(3),
            proxies=entry.wants_proxies,
            average=entry.wants_average,
        )
        collected.append((entry.release(draw), entry.assess(draw)))
        assert (len(draw.moments.cached_pairs) > 0) == (mean_share is None)
        noise.at = 0
    (first, said), (second, said_again) = collected
    np.testing.assert_array_equal(first.components, second.components)
    np.testing.assert_array_equal(first.eigenvalues, second.eigenvalues)
    assert (said is None) == (said_again is None)
    if said is not None:
        np.testing.assert_array_equal(said.captured.value, said_again.captured.value)
