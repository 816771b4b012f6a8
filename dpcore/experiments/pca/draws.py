"""Subspaces that protocols release from one draw of the noise on a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from dpcore.experiments.pca.problem import Problem
from dpcore.pca import Draw, ReleaseSettings, Subspace
from dpcore.pca.draw import THREADED_FROM_FEATURES
from dpcore.pca.protocols.protocol import Protocol
from dpcore.pca.site import SiteAtWork
from dpcore.streams import Repetition


def draw_releases(
    protocols: Sequence[Protocol],
    settings: Sequence[ReleaseSettings],
    problem: Problem,
    repetition: Repetition,
    *,
    threads: int | None = None,
    checkpoint: Callable[[], None] = lambda: None,
    each_site: Callable[[SiteAtWork], None] = lambda _: None,
) -> list[dict[str, Subspace]]:
    """Return the subspaces of several protocols and settings on one draw of the noise.

    Sharing the draw changes no digit of any subspace.

    settings: Equal except for K, R, truncation, encoding and denoising.
    threads: Sites, and protocols, computed in parallel; one per processor by default.
    checkpoint: Called before each site and each block of pooled rows; an exception that it raises
        ends the draw.
    each_site: Called after each site is finished, by the thread that computed it.
    Returns: One mapping of protocol keys to subspaces per element of `settings`.
    """
    draws = Draw(
        problem.moments,
        settings[0],
        repetition,
        proxies=any(entry.wants_proxies for entry in protocols),
        average=any(entry.wants_average for entry in protocols),
        threads=threads,
        checkpoint=checkpoint,
        watch=each_site,
    ).draws_with(settings)
    if threads == 1 or problem.n_features < THREADED_FROM_FEATURES:
        by_draw: list[dict[str, Subspace]] = [{} for _ in draws]
        for draw, subspaces in zip(draws, by_draw, strict=True):
            for entry in protocols:
                subspaces[entry.key] = problem.lift(entry.release(draw))
        return by_draw
    # One thread per protocol: most protocols wait for the sites, and the others run meanwhile.
    with ThreadPoolExecutor(len(protocols)) as pool:
        pending = [
            {entry.key: pool.submit(entry.release, draw) for entry in protocols} for draw in draws
        ]
        return [
            {key: problem.lift(future.result()) for key, future in futures.items()}
            for futures in pending
        ]
