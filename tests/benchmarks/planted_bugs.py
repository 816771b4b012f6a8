"""Check which of a list of known bugs the tests detect, planted one by one.

    DPCORE_DATA=... OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.planted_bugs [name ...]

Each bug is one replacement in one file of a copy of the tree, in which the tests that guard that
place are then run as CI runs them, up to the first that fails. A test checks that every text to
be replaced still stands where the table says.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# Longer than any of the guards takes on two idle cores.
_PATIENCE_SECONDS = 900
_AUDIT = "tests/audit_cases/test_audit_cases.py"


@dataclass(frozen=True)
class PlantedBug:
    """Bug that is planted in a copy of the tree.

    Parameters
    ----------
    name : str
    breaks : str
        What would be false, in a few words.
    path : str
        The file, from the root of the repository.
    sound, planted : str
        The text that stands there once, and what takes its place.
    guards : tuple of str
        Tests to run: files or folders.
    """

    name: str
    breaks: str
    path: str
    sound: str
    planted: str
    guards: tuple[str, ...]


BUGS: tuple[PlantedBug, ...] = (
    # What a hostile reading found.
    PlantedBug(
        "cape-forgets-the-site",
        "a participating site knows its own noise",
        "dpcore/privacy/cape.py",
        "mu_from_result(min(n_honest, n_sites - 1))",
        "mu_from_result(n_sites)",
        ("tests/privacy/test_cape.py", "tests/pca/test_guarantees.py", _AUDIT),
    ),
    PlantedBug(
        "local-centred-by-others",
        "one site alone reads nobody else",
        "dpcore/pca/draw.py",
        "around_own_mean = drawn.centred(mean, mean)",
        "around_own_mean = drawn.centred(mean, self.moments.weights @ self.noisy_means)",
        ("tests/pca/test_protocols.py", _AUDIT),
    ),
    PlantedBug(
        "ledger-loses-data-sets",
        "a sweep over two data sets pays for both",
        "dpcore/privacy/charges.py",
        "return self.dataset, self.key",
        'return "", self.key',
        (
            "tests/experiments/pca/test_charges_of_runs.py",
            "tests/experiments/engine/test_charge_keys.py",
        ),
    ),
    PlantedBug(
        "explore-forgets-to-charge",
        "whatever is shown is charged",
        "pages/explore/explore.py",
        "    ledger.charge_run(spec)\n",
        "",
        ("tests/pages/test_explore.py", "tests/pages/test_every_page.py"),
    ),
    PlantedBug(
        "odometer-is-the-running-total",
        "a bound for whoever stops when it suits",
        "dpcore/privacy/odometer.py",
        "return c - math.log1p(-excess) if excess < 1 else math.inf",
        "return c if excess < 1 else math.inf",
        ("tests/privacy/test_odometer.py",),
    ),
    PlantedBug(
        "saved-with-its-seed",
        "nothing that is saved undoes the noise",
        "dpcore/pca/estimators/private_estimator.py",
        'super().__getstate__() | {"random_state": None}',
        "super().__getstate__()",
        ("tests/test_saved_estimators.py",),
    ),
    PlantedBug(
        "one-noise-under-two-epsilons",
        "no stream serves two releases",
        "dpcore/streams.py",
        "[_canonical(part) for part in released_with]",
        "len(released_with)",
        ("tests/test_one_noise_one_release.py", "tests/test_streams.py"),
    ),
    PlantedBug(
        "solver-forgotten-by-output",
        "the solver's distance is inside the promise",
        "dpcore/classification/perturbation.py",
        "return 2.0 * (norm_bound / n_samples + gradient_norm) / regularization",
        "return 2.0 * norm_bound / n_samples / regularization",
        ("tests/classification", _AUDIT),
    ),
    PlantedBug(
        "solver-forgotten-by-objective",
        "the same for objective perturbation",
        "dpcore/classification/training.py",
        "solved.reshape(shape) + drawn[:, :, 1] / rate[:, None, None, None]",
        "solved.reshape(shape)",
        ("tests/classification", _AUDIT),
    ),
    PlantedBug(
        "pipelines-go-unnoticed",
        "each row depends on its person alone",
        "dpcore/pca/estimators/fitted_steps.py",
        "return steps[:position]",
        "return steps[:0]",
        ("tests/pca/test_preparation_warning.py",),
    ),
    PlantedBug(
        "rows-of-their-own-unsaid",
        "the card names that assumption",
        "dpcore/pca/protocols/protocol.py",
        "    Assumption.ROW_OF_ONE_PERSON,\n",
        "",
        ("tests/audit_cases/test_assumptions.py",),
    ),
    PlantedBug(
        "an-exact-attribute",
        "nothing exact is left in a fitted object",
        "dpcore/classification/classifiers.py",
        "        self.classes_ = fits.classes\n",
        "        self.classes_ = fits.classes\n        self.longest_ = (X**2).sum(1).argmax()\n",
        ("tests/test_fitted_attributes.py",),
    ),
    PlantedBug(
        "squares-overflow",
        "one extreme row aborts no release",
        "dpcore/data/row_bounds.py",
        "    X, norms = scale_down_huge_rows(X, row_norms(X))",
        "    norms = row_norms(X)",
        ("tests/data/test_row_norms.py",),
    ),
    PlantedBug(
        "clipping-not-below-the-bound",
        "no shortened row exceeds its bound",
        "dpcore/data/row_bounds.py",
        "    limit = (1 - slack) * bound",
        "    limit = bound",
        ("tests/data/test_row_norms.py",),
    ),
    PlantedBug(
        "mean-outside-the-supremum",
        "one person moves the matrix and the mean together",
        "dpcore/privacy/sensitivity.py",
        "return without_mean * (1 + relative**2 / 2)",
        "return without_mean",
        ("tests/privacy/test_gaussian.py", "tests/pca"),
    ),
    PlantedBug(
        "counts-in-a-private-sentence",
        "a sentence that says private says nothing of the rows",
        "dpcore/data/row_bounds.py",
        "statement = _state_bound(scale, mode, about_middle=limits is not None)",
        'statement = f"{n_clipped} rows are clipped: this step is private."',
        ("tests/data/test_preparation.py",),
    ),
    PlantedBug(
        "sphere-longer-than-one",
        "no row is longer than 1 after its own rounding",
        "dpcore/spectra/site_rows.py",
        "(1 - slack) / lengths",
        "(1 + slack) / lengths",
        ("tests/spectra/test_site_rows.py",),
    ),
    PlantedBug(
        "views-longer-together",
        "two views, each at its own length, make a row of length 1",
        "dpcore/spectra/site_rows.py",
        "part, part)) / length",
        "part, part))",
        ("tests/spectra/test_site_rows.py",),
    ),
    PlantedBug(
        "mean-on-the-sphere-unpaid",
        "the mean that the sphere is centred by takes its share of the budget",
        "dpcore/privacy/sensitivity.py",
        "2 * weight / n_samples, of_votes)",
        "0 * weight / n_samples, of_votes)",
        ("tests/pca/test_mean_share.py", "tests/spectra/test_site_rows.py"),
    ),
    PlantedBug(
        "verdict-on-chains-unsaid",
        "PPCA's verdict depends on the rows",
        "dpcore/pca/protocols/ppca.py",
        "_CHAIN_ASSUMPTIONS = (Assumption.EXACT_DRAWS, Assumption.VERDICT_WITH_HOLDER)",
        "_CHAIN_ASSUMPTIONS = (Assumption.EXACT_DRAWS,)",
        ("tests/audit_cases/test_assumptions.py", "tests/pca"),
    ),
    PlantedBug(
        "nominal-bounds-prove",
        "only an exact bound proves a breach",
        "dpcore/privacy/audit.py",
        "return self.epsilon_exact > self.case.epsilon",
        "return self.epsilon > self.case.epsilon",
        ("tests/privacy/test_audit.py",),
    ),
    # What an adversary with a clone found.
    PlantedBug(
        "one-mask-for-all-rounds",
        "of one purpose a pair of sites has one mask, and it serves one message",
        "dpcore/federated/guard.py",
        'purpose = f"{self.plan.digest} {request.id}"',
        "purpose = self.plan.digest",
        ("tests/federated",),
    ),
    PlantedBug(
        "one-blank-moves-all-flags",
        "a cell's number does not depend on the type that the other cells give its column",
        "dpcore/release/cells.py",
        "        return _real_number(cell)\n",
        "        return np.nan if isinstance(cell, bool) else _real_number(cell)\n",
        ("tests/release/test_cells.py",),
    ),
    PlantedBug(
        "levels-as-they-print",
        "nor does its name: 1 and 1.0 are one level and one person",
        "dpcore/release/cells.py",
        "return str(int(number)) if abs(number) < _LARGEST_WHOLE else repr(number)",
        "return repr(number)",
        ("tests/release/test_cells.py",),
    ),
    # Denoisers that read what they may not.
    PlantedBug(
        "denoiser-reads-the-diagonal",
        "a site's denoiser reads its noisy matrix alone",
        "dpcore/pca/draw.py",
        "        return NoisySite(noisy, people, sigma",
        "        if self.settings.bases:\n"
        "            exact = self.moment_around(self.centre, site)\n"
        "            np.fill_diagonal(noisy, np.diagonal(exact))\n"
        "        return NoisySite(noisy, people, sigma",
        ("tests/pca/test_denoising.py", _AUDIT),
    ),
    PlantedBug(
        "denoiser-reads-the-mean",
        "the centre is denoised from the noisy mean alone",
        "dpcore/pca/draw.py",
        "centre_of_site_rows(self.moments, weights @ self.noisy_means, sigma)",
        "centre_of_site_rows(self.moments, weights @ self.moments.means, sigma)",
        ("tests/pca/test_denoising.py", _AUDIT),
    ),
    PlantedBug(
        "denoiser-reads-another-site",
        "what a site sends is made of its own noisy matrix",
        "dpcore/pca/draw.py",
        "            return noisy.proxy(kind.intermediate_dim, kind.ranking, bases)\n",
        "            first = self.noisy_site(0)\n"
        "            return first.proxy(kind.intermediate_dim, kind.ranking, bases)\n",
        ("tests/pca/test_denoising.py", _AUDIT),
    ),
    # New ones.
    PlantedBug(
        "zero-out-sensitivity",
        "replace-one moves a second moment by sqrt(2) c^2 / n",
        "dpcore/privacy/sensitivity.py",
        "return math.sqrt(2.0) * row_norm_bound**2 / n_samples",
        "return row_norm_bound**2 / n_samples",
        ("tests/privacy/test_gaussian.py", _AUDIT),
    ),
    PlantedBug(
        "one-stream-for-all-sites",
        "no two sites share a stream",
        "dpcore/pca/draw.py",
        "rng=self.repetition.rng(Purpose.SITE_NOISE, self.sites[site]),",
        "rng=self.repetition.rng(Purpose.SITE_NOISE, 0),",
        ("tests/pca", _AUDIT),
    ),
    PlantedBug(
        "coded-with-half-the-noise",
        "coded matrices carry the noise of the guarantee",
        "dpcore/pca/protocols/coded.py",
        "    return encode_message(draw.centred_site(site, noisy).whole(), encoding, rng=key)\n",
        "    exact = draw.moment_around(draw.centre, site)\n"
        "    halved, sigma = (noisy.noisy + exact) / 2, noisy.sigma / 2\n"
        "    noisy = NoisySite(halved, noisy.n_samples, sigma, noisy.noise)\n"
        "    return encode_message(draw.centred_site(site, noisy).whole(), encoding, rng=key)\n",
        (_AUDIT,),
    ),
    PlantedBug(
        "lower-triangle-bare",
        "every entry is noisy",
        "dpcore/mechanisms/noise.py",
        "noise[..., row, row:] = noise[..., row:, row] = draws[..., start:stop]",
        "noise[..., row, row:], noise[..., row:, row] = draws[..., start:stop], 0.0",
        ("tests/mechanisms", _AUDIT),
    ),
    PlantedBug(
        "isometric-diagonal-too-quiet",
        "isometric noise has sigma on its diagonal",
        "dpcore/mechanisms/noise.py",
        "noise[..., diagonal, diagonal] *= math.sqrt(2.0)",
        "noise[..., diagonal, diagonal] *= 1.0",
        ("tests/mechanisms", _AUDIT),
    ),
    PlantedBug(
        "ppca-without-its-half",
        "the exponential mechanism halves epsilon",
        "dpcore/pca/protocols/ppca.py",
        "concentration = n_samples * epsilon / (2 * row_norm_bound**2)",
        "concentration = n_samples * epsilon / row_norm_bound**2",
        ("tests/pca", _AUDIT),
    ),
    PlantedBug(
        "cape-mean-with-the-matrix-noise",
        "the mean under masks gets the noise its share pays for",
        "dpcore/pca/protocols/cape.py",
        "mean, votes = ratio * single.mean, ratio * single.votes",
        "mean, votes = sigma, ratio * single.votes",
        ("tests/pca", _AUDIT),
    ),
    PlantedBug(
        "aggregator-called-distrusted",
        "a trusted holder is named as trusted",
        "dpcore/pca/protocols/protocol.py",
        "    trusted=frozenset({Adversary.AGGREGATOR}),\n",
        "",
        ("tests/pca/test_guarantees.py",),
    ),
    PlantedBug(
        "histograms-move-by-one",
        "a replaced person changes two bins",
        "dpcore/statistics/noisy_release.py",
        "TWO_BINS = (2.0, math.sqrt(2.0))",
        "TWO_BINS = (1.0, 1.0)",
        ("tests/statistics", _AUDIT),
    ),
    PlantedBug(
        "objective-spends-twice",
        "minimiser and solver share one epsilon",
        "dpcore/classification/perturbation.py",
        "minimizer_epsilon = epsilon - solver_epsilon if epsilon < math.inf else epsilon",
        "minimizer_epsilon = epsilon",
        ("tests/classification",),
    ),
    PlantedBug(
        "cap-without-its-reserve",
        "delta of unlike releases comes out of the cap's",
        "dpcore/privacy/cap.py",
        "return gaussian_mu(PrivacyBudget(self.epsilon, self.delta - self.reserve))",
        "return gaussian_mu(PrivacyBudget(self.epsilon, self.delta))",
        ("tests/privacy/test_filter.py",),
    ),
    PlantedBug(
        "cap-admits-one-more",
        "a cap refuses what exceeds it",
        "dpcore/privacy/cap.py",
        "return self.share(spent) <= _ROUNDING and",
        "return self.share(spent) <= 2 and",
        ("tests/privacy/test_filter.py", "tests/experiments/pca/test_charges_of_runs.py"),
    ),
    PlantedBug(
        "pure-releases-enter-too-cheap",
        "pure epsilon enters a cap through the corner of its trade-off curve",
        "dpcore/privacy/interpretation.py",
        "return max(0.0, -2 * float(ndtri_exp(log_expit(-epsilon))))",
        "return max(0.0, -1.9 * float(ndtri_exp(log_expit(-epsilon))))",
        ("tests/privacy/test_meaning.py", "tests/privacy/test_filter.py"),
    ),
    PlantedBug(
        "statistics-share-a-stream",
        "each column has noise of its own",
        "dpcore/experiments/statistics/runs.py",
        "        spec.column,\n",
        "",
        ("tests/experiments/statistics/test_statistic_runs.py",),
    ),
    PlantedBug(
        "honest-sites-out-of-the-key",
        "what shapes the noise is in the charge's key",
        "dpcore/pca/protocols/cape.py",
        '(*GAUSSIAN, "masks", "honest_sites")',
        '(*GAUSSIAN, "masks")',
        ("tests/experiments/engine/test_charge_keys.py",),
    ),
    PlantedBug(
        "interrupts-cross-visitors",
        "only results and ordinary errors cross visitors",
        "dpcore/experiments/engine/cache.py",
        "if isinstance(error, Exception) and not isinstance(error, MemoryError):",
        "if isinstance(error, BaseException):",
        ("tests/experiments/engine/test_cache.py",),
    ),
    PlantedBug(
        "links-come-alive",
        "foreign text stays text",
        "pages/components/notices.py",
        "if _LINKED_LATER.search(word):",
        "if False:",
        ("tests/pages/test_notices.py",),
    ),
)


def catch(bug: PlantedBug) -> str | None:
    """Return the first test that fails with the bug, or None if all pass."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        _copy_tracked_files(copy)
        source = copy / bug.path
        source.write_text(source.read_text("utf-8").replace(bug.sound, bug.planted), "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", *bug.guards],
            cwd=copy,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split()[1] if failed else f"exit {done.returncode}"


def _copy_tracked_files(target: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, place)


def main(names: list[str]) -> int:
    chosen = [bug for bug in BUGS if not names or bug.name in names]
    missed = 0
    print("| bug | what it breaks | caught by | seconds |\n|---|---|---|---|")
    for bug in chosen:
        start = time.perf_counter()
        test = catch(bug)
        missed += test is None
        seconds = time.perf_counter() - start
        print(
            f"| {bug.name} | {bug.breaks} | {test or '**nothing**'} | {seconds:.0f} |", flush=True
        )
    print(f"\n{len(chosen) - missed} of {len(chosen)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
