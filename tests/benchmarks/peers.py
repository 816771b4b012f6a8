"""Private PCA of another library, run by an interpreter that has that library and not this one.

    INTERPRETER tests/benchmarks/peers.py diffprivlib asked.npz found.npz

`bench_peers.py` calls it, and `bench_exact_noise.py` for OpenDP's discrete Gaussian. Rows come in
units of the public bound, about the middle of public limits; components of so many draws go back,
or why there are none.

Both libraries draw each component with the sampler of Kent, Ganeiber and Mardia (2018), and divide
by a factor of the chance of acceptance where the paper has it multiplied. The law is then another
one, no bound on epsilon is proven for it, and where components stand out hardly a proposal is
accepted. `mended` puts the paper's chance in place, as a logarithm, which does not overflow at 784
features, and proposes by a Cholesky factor, which has the same law as what stood there.
"""

from __future__ import annotations

import inspect
import signal
import sys
import textwrap
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

_DIFFPRIVLIB = {
    "np.exp(-(dims - b_const) / 2) * ((dims / b_const) ** (dims / 2))":
        "-(dims - b_const) / 2 + dims / 2 * np.log(dims / b_const)",
    "self._rng.multivariate_normal(np.zeros(dims), omega_inv / 4, size=4).sum(axis=0)":
        "np.linalg.solve(np.linalg.cholesky(omega).T, self._rng.standard_normal(dims))",
    "np.exp(-unit_vec.dot(value_translated).dot(unit_vec)) / norm_const":
        "np.exp(-unit_vec.dot(value_translated).dot(unit_vec) - norm_const",
    "/ ((unit_vec.dot(omega).dot(unit_vec)) ** (dims / 2))":
        "+ dims / 2 * np.log(unit_vec.dot(omega).dot(unit_vec)))",
}  # fmt: skip
_OPENDP = {
    "np.exp(-(d - b) / 2) * (d / b) ** (d / 2)": "-(d - b) / 2 + d / 2 * np.log(d / b)",
    "np_csprng.multivariate_normal(mean=np.zeros(d), cov=Omega_inv)":
        "np.linalg.solve(np.linalg.cholesky(Omega).T, np_csprng.standard_normal(d))",
    "np.exp(-u.T @ A @ u) / (": "np.exp(-u.T @ A @ u - M + (",
    "M * (u.T @ Omega @ u) ** (d / 2)\n": "d / 2 * np.log(u.T @ Omega @ u))\n",
}  # fmt: skip


def mended(function: Any, replaced: dict[str, str]) -> Any:
    """The function with some of its text replaced, each exactly once."""
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in replaced.items():
        if source.count(old) != 1:
            raise SystemExit(f"{function.__qualname__} is not what was mended: {old}")
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    exec(source, function.__globals__, names)
    return names[function.__name__]


def mend(name: str) -> None:
    if name == "diffprivlib":
        bingham = import_module("diffprivlib.mechanisms.bingham").Bingham
        bingham.randomise = mended(bingham.randomise, _DIFFPRIVLIB)
        return
    module: Any = import_module("opendp.extras.sklearn._make_eigenvector")
    to_then = import_module("opendp.extras._utilities").to_then
    module.then_private_eigenvector = to_then(mended(module.make_private_eigenvector, _OPENDP))


def with_diffprivlib(asked: Any) -> np.ndarray:
    """Replace-one, n public: its mean has the sensitivity (b - a) / n, its score 1."""
    from diffprivlib.models import PCA

    model = PCA(
        int(asked["n_components"]),
        epsilon=float(asked["epsilon"]),
        data_norm=1.0,
        bounds=(asked["lower"], asked["upper"]),
    )
    return model.fit(asked["rows"].copy()).components_


def with_opendp(asked: Any) -> np.ndarray:
    """Symmetric distance, n public: one replaced row is at distance 2, and `map(2)` its epsilon."""
    import opendp.prelude as dp
    from opendp.extras.sklearn.decomposition import PCA

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    rows, epsilon = asked["rows"], float(asked["epsilon"])
    n_samples, n_features = rows.shape
    model = PCA(
        epsilon=epsilon / 2,
        row_norm=1.0,
        n_samples=n_samples,
        n_features=n_features,
        n_components=int(asked["n_components"]),
    )
    if not np.isclose(model.measurement().map(2), epsilon, rtol=1e-6):
        raise SystemExit("OpenDP's own map does not give the epsilon that was asked")
    return model.fit(rows).components_


def discrete_gaussian(asked: Any) -> dict[str, Any]:
    """Draws of OpenDP's discrete Gaussian, the processor's seconds for them, and the epsilon that
    it promises for this scale and a sensitivity, by way of zero-concentrated privacy."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.i64)
    noise = dp.m.make_gaussian(*space, scale=float(asked["sigma"]))
    curve = dp.c.make_zCDP_to_approxDP(noise)
    start = time.process_time()
    draws = np.array(noise([0] * int(asked["size"])))
    seconds = time.process_time() - start
    sensitivity = int(asked["sensitivity"])
    epsilon = curve.map(sensitivity).epsilon(float(asked["delta"])) if sensitivity else np.nan
    return {"draws": draws, "seconds": seconds, "epsilon": epsilon}


def directions(name: str, asked: Any) -> dict[str, Any]:
    """Draws of a library's leading direction of a second moment, by its own mechanism alone."""
    moment, epsilon = asked["moment"], float(asked["epsilon"])
    if asked["is_mended"]:
        mend(name)
    if name == "diffprivlib":
        from diffprivlib.mechanisms import Bingham

        draw = Bingham(epsilon=epsilon, sensitivity=1.0).randomise
    else:
        import opendp.prelude as dp
        from opendp.extras.numpy import _sscp_domain

        dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
        module: Any = import_module("opendp.extras.sklearn._make_eigenvector")
        n_people = int(moment.trace())
        domain = _sscp_domain(norm=1.0, p=2, size=n_people, num_features=len(moment), T=dp.f64)
        draw = (domain, dp.symmetric_distance()) >> module.then_private_eigenvector(epsilon)
        if not np.isclose(draw.map(2), epsilon):
            raise SystemExit("OpenDP's own map does not give the epsilon that was asked")
    found = [np.asarray(draw(moment), dtype=float) for _ in range(int(asked["draws"]))]
    return {"directions": np.array(found), "versions": f"{name} {version(name)}"}


def main() -> None:
    name, asked_from, found_to = sys.argv[1:]
    asked = np.load(asked_from)
    if name.endswith("-direction"):
        np.savez(found_to, **directions(name.removesuffix("-direction"), asked))
        return
    if name == "discrete-gaussian":
        np.savez(found_to, versions=version("opendp"), **discrete_gaussian(asked))
        return
    if asked["is_mended"]:
        mend(name)
    draw = {"diffprivlib": with_diffprivlib, "opendp": with_opendp}[name]
    limit = float(asked["seconds"])

    late: list[str] = []

    def too_long(*_: object) -> None:
        late.append(f"no answer in {limit:g} s of the processor")
        raise TimeoutError

    signal.signal(signal.SIGPROF, too_long)
    components, failed, start = [], "", time.process_time()
    for _ in range(int(asked["draws"])):
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            components.append(draw(asked))
        except Exception as error:  # noqa: BLE001, what a peer does is what is reported
            last = (str(error).strip().splitlines() or [""])[-1]
            failed = late[0] if late else f"{type(error).__name__}: {last}"
            break
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = (time.process_time() - start) / max(len(components), 1)
    versions = " ".join(f"{each} {version(each)}" for each in (name, "numpy", "scikit-learn"))
    np.savez(found_to, components=components, failed=failed, seconds=seconds, versions=versions)


if __name__ == "__main__":
    main()
