"""The rejection sampler that divides: exact ratios of its densities, and an attack on shipped code.

    python tests/benchmarks/wrong_acceptance.py
    python tests/benchmarks/wrong_acceptance.py --opendp PYTHON --diffprivlib PYTHON [--draws 2000]

Without a PYTHON the table of `docs/algorithms/wrong-acceptance.md` is computed: the largest log
ratio of the densities that the sampler draws from on two data sets in which one row differs, in
double precision from one-dimensional sums, for what the libraries promise as epsilon = 1.

PYTHON are interpreters of environments of their own: `pip install 'opendp[scikit-learn]'` and
`pip install diffprivlib scikit-learn==1.6.1`. Their code runs as it was installed, and with the
factor multiplied, on 18 and 16 people along two axes of eight at a promised epsilon = 2. Thresholds
are chosen on one half of the draws; the other half proves what is printed, with 99 % confidence.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.special import betaln, logsumexp

from dpcore.arrays import FloatArray
from dpcore.audit_cases.flawed import envelope_scale

Pair = tuple[tuple[float, float], tuple[float, float]]
# How many people there are along the first and the second of the axes, before and after.
TURNED, MIRRORED, EVEN = "turned", "mirrored", "even"
CONFIDENCE, PROMISED, N_FEATURES, N_OTHERS = 0.99, 2.0, 8, 16
_HERE = Path(__file__).parent


def pair_of(kind: str, n_others: int) -> Pair:
    """Neighbours by replacement of one row."""
    return {
        TURNED: ((n_others + 1, 0), (n_others, 1)),
        MIRRORED: ((n_others + 1, n_others), (n_others, n_others + 1)),
        EVEN: ((n_others + 1, n_others + 1), (n_others + 2, n_others)),
    }[kind]


def largest_log_ratio(
    kind: str, n_features: int, n_others: int, *, power: float | None = None, epsilon: float = 1.0
) -> float:
    """Largest log ratio of the densities exp(-t) (1 + 2 t / b)^-power at the axes.

    Both logarithms are monotone in t, which is linear in the squared coordinates, so that the
    ratio is least and largest at axes or on edges between them; at an axis is what is reported.

    power: n_features unless given, as the libraries draw; 0 for the law that they aim at.
    """
    power = n_features if power is None else power
    logs = []
    for first, second in pair_of(kind, n_others):
        top = max(first, second)
        spectrum = epsilon / 4 * np.array([top - first, top - second, *[top] * (n_features - 2)])
        b = envelope_scale(spectrum)
        at_axes = _log_density(spectrum[:3], b, power)
        logs.append(at_axes - _log_constant(spectrum, b, power))
    return float(np.abs(logs[0] - logs[1]).max())


def _log_density(t: FloatArray, b: float, power: float) -> FloatArray:
    density: FloatArray = -t - power * np.log1p(2 * t / b)
    return density


def _log_constant(spectrum: FloatArray, b: float, power: float) -> float:
    """Log of the mean over the sphere, by the trapezoid rule, which is exact to rounding here.

    Of a uniform unit vector the share y of the axes beyond the second has the law
    Beta(D/2 - 1, 1), and the angle between the first two is uniform.
    """
    rest = len(spectrum) / 2 - 1
    logit, step = np.linspace(-30, 30, 901, retstep=True)
    log_y, log_left = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    angle = (np.arange(128) + 0.5) * np.pi / 128
    plane = spectrum[0] * np.cos(angle) ** 2 + spectrum[1] * np.sin(angle) ** 2
    t = spectrum[-1] * np.exp(log_y)[:, None] + np.exp(log_left)[:, None] * plane
    weight = rest * log_y + log_left - betaln(rest, 1) + np.log(step) - np.log(angle.size)
    return float(logsumexp(_log_density(t, b, power) + weight[:, None]))


def table() -> None:
    print("| D | turned, most of n | mirrored, n = 401 | even, n = 402 | even, corrected |")
    print("|---|---|---|---|---|")
    for d in (3, 4, 5, 8, 10, 30, 64):
        turned = max((largest_log_ratio(TURNED, d, n), n + 1) for n in range(140))
        mirrored, even = (largest_log_ratio(kind, d, 200) for kind in (MIRRORED, EVEN))
        sound = largest_log_ratio(EVEN, d, 200, power=0)
        print(
            f"| {d} | {turned[0]:.3f} (n = {turned[1]}) | {mirrored:.3f} | {even:.3f} "
            f"| {sound:.3f} |"
        )


def attack(name: str, python: str, n_draws: int, *, is_mended: bool) -> None:
    """What the library's own draws prove of it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for number, (first, second) in enumerate(pair_of(EVEN, N_OTHERS)):
            moment = np.diag([first, second, *[0.0] * (N_FEATURES - 2)])
            asked = {
                "moment": moment,
                "epsilon": PROMISED,
                "draws": n_draws,
                "is_mended": is_mended,
            }
            np.savez(place / f"asked-{number}.npz", **asked)
        found = []
        running = [
            subprocess.Popen([python, str(_HERE / "peers.py"), f"{name}-direction",
                              f"{place}/asked-{k}.npz", f"{place}/found-{k}.npz"])
            for k in range(2)
        ]  # fmt: skip
        for number, process in enumerate(running):
            if process.wait() != 0:
                raise SystemExit(f"{name} did not run")
            found.append(np.load(place / f"found-{number}.npz"))
    scores = [_log_ratio(each["directions"] ** 2) for each in found]
    proved = max(proved_epsilon(scores[0], scores[1]), proved_epsilon(-scores[1], -scores[0]))
    kind = "multiplied" if is_mended else "as shipped"
    print(
        f"{found[0]['versions']}, {kind}: {len(scores[0])} draws of each, epsilon >= {proved:.3f} "
        f"with {CONFIDENCE:.0%} confidence; it says {PROMISED:g}",
        flush=True,
    )


def _log_ratio(squares: FloatArray) -> FloatArray:
    logs = []
    for first, second in pair_of(EVEN, N_OTHERS):
        top = max(first, second)
        spectrum = PROMISED / 4 * np.array([top - first, top - second, *[top] * (N_FEATURES - 2)])
        logs.append(_log_density(squares @ spectrum, envelope_scale(spectrum), N_FEATURES))
    ratio: FloatArray = logs[0] - logs[1]
    return ratio


def proved_epsilon(likelier: FloatArray, other: FloatArray) -> float:
    """Log of the ratio of two chances, by Clopper and Pearson's limits at half the error each.

    The two directions of an attack share the error too.
    """
    error = (1 - CONFIDENCE) / 4
    half = len(likelier) // 2

    def bound(a: FloatArray, b: FloatArray, threshold: float) -> float:
        hits, false = int((a > threshold).sum()), int((b > threshold).sum())
        low = stats.beta.ppf(error, hits, len(a) - hits + 1) if hits else 0.0
        high = stats.beta.ppf(1 - error, false + 1, len(b) - false) if false < len(b) else 1.0
        return float(np.log(low / high)) if low > 0 else -np.inf

    thresholds = np.quantile(likelier[:half], np.linspace(0.2, 0.98, 40))
    best = max(thresholds, key=lambda at: bound(likelier[:half], other[:half], at))
    return bound(likelier[half:], other[half:], best)


def main() -> None:
    options = argparse.ArgumentParser(description="The rejection sampler that divides.")
    options.add_argument("--opendp", metavar="PYTHON")
    options.add_argument("--diffprivlib", metavar="PYTHON")
    options.add_argument("--draws", type=int, default=2000)
    asked = options.parse_args()
    if not (asked.opendp or asked.diffprivlib):
        table()
    for name in ("opendp", "diffprivlib"):
        if python := getattr(asked, name):
            for is_mended in (False, True):
                attack(name, python, asked.draws, is_mended=is_mended)


if __name__ == "__main__":
    sys.exit(main())
