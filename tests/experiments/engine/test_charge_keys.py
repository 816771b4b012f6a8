"""Which settings make a new release: every field of every spec is changed separately.

A field that changes the noise, the people or the data has to change what is paid; one that is
read after the noise must not. Every new field of a spec must be listed here.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace

import pytest

from dpcore.errors import ParameterError
from dpcore.experiments.cca import CcaSpec
from dpcore.experiments.cca.views import CutViews, SyntheticViews
from dpcore.experiments.central import VARIANTS, central_spec
from dpcore.experiments.classification import ClassificationSpec
from dpcore.experiments.engine.charge_keys import compute_charges
from dpcore.experiments.engine.grid import Sweep
from dpcore.experiments.engine.spec import charges_of, merge_charges
from dpcore.experiments.engine.sweep import collect
from dpcore.experiments.pca import RunSpec, run
from dpcore.experiments.pca.problem import local_problem
from dpcore.experiments.statistics import StatisticSpec
from dpcore.pca import Draw
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.privacy import EVERYONE, Accountant, Charge, Guarantee, Release
from dpcore.streams import Repetition

HOLDS = Guarantee(None, 1.0, 0.01, "gaussian", "")
PURE = Guarantee(None, 1.0, 0.0, "laplace", "")

RUN = RunSpec.published(preparation="bounded", split="dirichlet", norm_bound=2.0, samples=600)
RUN_NOISE = {
    "dataset": "mnist",
    "epsilon": 2.0,
    "delta": 0.001,
    "sites": 4,
    "samples": 500,
    "calibration": "analytic",
    "noise": "isometric",
    "preparation": "published",
    "norm_bound": 3.0,
    "limits": "pixels=0:8",
    "mean_share": 0.2,
    "knowledge": "dct:50",
    "split": "equal",
    "concentration": 0.5,
    "resample": True,
    "seed": 1,
}
RUN_AFTER = {
    "components": 3,
    "intermediate_dim": 30,
    "truncation": "psd",
    "denoise": "columns",
    "encoding": "float16",
    "reference": "all",
}
CAPE_NOISE = {"masks": "wide", "honest_sites": 2}


def of(spec: RunSpec, protocol: str = "dpdis") -> set[tuple[str, str]]:
    return identities(spec.charges({protocol: HOLDS}))


def identities(charges: list[Charge]) -> set[tuple[str, str]]:
    return {charge.release.identity for charge in charges}


def test_every_field_of_a_run_is_sorted():
    sorted_here = {*RUN_NOISE, *RUN_AFTER, *CAPE_NOISE, "dropped_sites", "protocols", "repetitions"}
    assert sorted_here == {field.name for field in fields(RunSpec)}


@pytest.mark.parametrize("protocol", ["dpdis", "full", "local", "cape"])
@pytest.mark.parametrize("field", RUN_NOISE)
def test_what_changes_the_noise_the_people_or_the_data_is_paid_again(field, protocol):
    assert not of(RUN, protocol) & of(replace(RUN, **{field: RUN_NOISE[field]}), protocol)


@pytest.mark.parametrize("field", CAPE_NOISE)
def test_so_is_what_shapes_cape_alone(field):
    change = {field: CAPE_NOISE[field]}
    drawn_anew = not of(RUN, "securesum") & of(replace(RUN, **change), "securesum")
    assert drawn_anew == (field == "honest_sites")
    assert not of(RUN, "cape") & of(replace(RUN, **change), "cape")
    assert of(RUN, "dpdis") == of(replace(RUN, **change), "dpdis")


@pytest.mark.parametrize("protocol", ["dpdis", "full", "sequential", "local"])
def test_a_site_s_noise_is_its_own_whoever_else_answers(protocol):
    """The only exception: the identity of the noise is unknown if the first answering site is
    single.
    """
    fixed = replace(RUN, mean_share=0.2)
    fewer = replace(fixed, dropped_sites=2)
    assert of(fixed, protocol) == of(fewer, protocol)
    (charge,) = fewer.charges({protocol: HOLDS}, 1)
    assert charge.release.partition == EVERYONE


SCALES = {
    "sphere": RunSpec(samples=600, sites=5, seed=3),
    "bounded": RunSpec.bounded(samples=600, sites=5, seed=3),
    "bounded, fixed share": RunSpec.bounded(samples=600, sites=5, seed=3, mean_share=0.2),
    "not centred": RunSpec(samples=600, sites=5, seed=3, preparation="none"),
    "as printed": RunSpec.published(samples=600, sites=5, seed=3),
}
CHANGES = RUN_NOISE | RUN_AFTER | CAPE_NOISE | {"dataset": "mnist-small", "epsilon": 0.7}


def noise_scales_of(spec: RunSpec, protocol: str) -> dict[object, tuple[float, ...]]:
    """Return scales of the matrix and the mean in one draw, by site if sites add the noise."""
    problem = local_problem(spec.problem_key())
    settings = spec.settings(problem.n_features, problem.default_components)
    draw = Draw(problem.moments, settings, Repetition(spec.seed))
    entry = PROTOCOLS[protocol]
    if entry.noise is not None and entry.noise.name == "sites":
        return {
            site: (scales.moment, scales.mean)
            for site, scales in zip(draw.sites, draw.scales, strict=True)
        }
    guarantee = entry.guarantee(settings, draw.n_samples, problem.n_features)
    return {"all rows": (guarantee.sigma, guarantee.l2_sensitivity, draw.n_people)}


@pytest.mark.parametrize("split", ["equal", "random"])
@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("protocol", ["dpdis", "local", "pooled", "securesum", "wishart", "sulq"])
def test_equal_keys_have_equal_scales_of_matrix_and_mean(protocol, name, split):
    """One unit noise at two scales would reveal the exact moment."""
    base = replace(SCALES[name], split=split)
    specs = [base]
    for field, value in CHANGES.items():
        with suppress(ParameterError):
            specs.append(replace(base, **{field: value}))
    with_drop_outs = [replace(base, dropped_sites=n, sites=s) for n in (1, 3) for s in (4, 5)]
    specs += [*with_drop_outs, replace(with_drop_outs[0], split="equal")]
    by_key: dict[object, list[dict[object, tuple[float, ...]]]] = {}
    for spec in specs:
        (identity,) = of(spec, protocol)
        by_key.setdefault(identity, []).append(noise_scales_of(spec, protocol))
    for first, *others in by_key.values():
        for other in others:
            assert all(first[site] == other[site] for site in first.keys() & other.keys())


@pytest.mark.parametrize(
    "protocol", ["pooled", "securesum", "wishart", "ag", "sulq", "modsulq", "ppca"]
)
def test_fewer_people_at_a_holder_are_another_release(protocol):
    assert not of(RUN, protocol) & of(replace(RUN, dropped_sites=2), protocol)


@pytest.mark.parametrize(
    "protocol", ["dpdis", "full", "local", "pooled", "cape", "ag", "sulq", "wishart"]
)
@pytest.mark.parametrize("field", RUN_AFTER)
def test_what_is_read_after_the_noise_is_free(field, protocol):
    assert of(RUN, protocol) == of(replace(RUN, **{field: RUN_AFTER[field]}), protocol)


@pytest.mark.parametrize("protocol", ["pooled", "wishart", "ag", "sulq", "modsulq", "ppca"])
def test_who_is_at_which_site_is_nothing_to_who_holds_all_rows(protocol):
    for field in ("sites", "split", "concentration"):
        assert of(RUN, protocol) == of(replace(RUN, **{field: RUN_NOISE[field]}), protocol)
    for field in ("dataset", "epsilon", "samples", "preparation", "norm_bound", "resample", "seed"):
        assert not of(RUN, protocol) & of(replace(RUN, **{field: RUN_NOISE[field]}), protocol)


def test_a_subspace_that_is_drawn_is_another_for_another_number_of_components():
    assert not of(RUN, "ppca") & of(replace(RUN, components=3), "ppca")


def test_repetitions_are_draws():
    (few,), (many,) = (replace(RUN, repetitions=n).charges({"ag": HOLDS}) for n in (2, 5))
    assert few.release.identity == many.release.identity
    assert (few.draws, many.draws) == (2, 5)


CCA = CcaSpec.published(
    protocols=("dpdis",), preparation="bounded", split="dirichlet", sites=3, samples=600
)
CCA_NOISE = {
    "epsilon": 2.0,
    "delta": 0.001,
    "sites": 4,
    "samples": 500,
    "calibration": "analytic",
    "noise": "isometric",
    "preparation": "published",
    "x_norm_bound": 2.0,
    "y_norm_bound": 2.0,
    "x_share": 0.3,
    "mean_share": 0.2,
    "split": "equal",
    "concentration": 0.5,
    "seed": 1,
}
CCA_AFTER = {
    "components": 2,
    "intermediate_dim": 9,
    "truncation": "psd",
    "denoise": "columns",
    "floor": 0.1,
}
SOURCE = CutViews("digits")


def pairs(spec: CcaSpec = CCA, source=SOURCE, protocol: str = "dpdis") -> set[tuple[str, str]]:
    return identities(replace(spec, source=source).charges({protocol: HOLDS}))


def test_every_field_of_a_cca_run_is_sorted():
    sorted_here = {*CCA_NOISE, *CCA_AFTER, *CAPE_NOISE, "protocols", "repetitions", "source"}
    assert sorted_here == {field.name for field in fields(CcaSpec)}


@pytest.mark.parametrize("field", CCA_NOISE)
def test_other_joint_moments_are_paid_again(field):
    assert not pairs() & pairs(replace(CCA, **{field: CCA_NOISE[field]}))


@pytest.mark.parametrize("field", CAPE_NOISE)
def test_and_those_of_cape_alone(field):
    other = replace(CCA, **{field: CAPE_NOISE[field]})
    assert not pairs(protocol="cape") & pairs(other, protocol="cape")
    assert pairs() == pairs(other)


@pytest.mark.parametrize("field", CCA_AFTER)
def test_pairs_read_from_the_same_joint_moment_are_free(field):
    assert pairs() == pairs(replace(CCA, **{field: CCA_AFTER[field]}))


@pytest.mark.parametrize(
    "other",
    [
        CutViews("digits", "halves-left-right"),
        CutViews("mnist"),
        CutViews("digits", ((0, 1), (2, 3))),
        SyntheticViews(),
    ],
    ids=str,
)
def test_other_views_are_paid_again(other):
    assert not pairs() & pairs(source=other)


LEARN = ClassificationSpec(centring_share=0.1, samples=300, protocol="dpdis")
LEARN_NOISE = {
    "preparation": "bounded",
    "dataset": "mnist",
    "classes": (2, 3),
    "epsilon": 2.0,
    "delta": 0.001,
    "pca_share": 0.4,
    "centring_share": 0.2,
    "sites": 4,
    "samples": 200,
    "noise": "triangle",
    "seed": 1,
}
# Training reads what comes out of them.
LEARN_AFTER_PCA = {
    "components": 3,
    "model": "logistic",
    "regularization": 0.01,
    "truncation": "svd",
    "denoise": "auto",
}
STAGES = ("centring", "PCA", "training")


def stages(spec: ClassificationSpec) -> dict[str, tuple[str, str]]:
    charges = spec.charges(dict.fromkeys(STAGES, HOLDS))
    return dict(zip(STAGES, (charge.release.identity for charge in charges), strict=True))


def test_every_field_of_a_classifier_is_sorted():
    known = {*LEARN_NOISE, *LEARN_AFTER_PCA, "pipeline", "protocol", "calibration", "repetitions"}
    assert known == {field.name for field in fields(ClassificationSpec)}


@pytest.mark.parametrize("field", LEARN_NOISE)
def test_another_noisy_moment_or_training_is_paid_again(field):
    ours, theirs = stages(LEARN), stages(replace(LEARN, **{field: LEARN_NOISE[field]}))
    assert ours["PCA"] != theirs["PCA"]
    assert ours["training"] != theirs["training"]


@pytest.mark.parametrize("field", LEARN_AFTER_PCA)
def test_training_anew_on_the_same_moment_pays_for_training(field):
    ours, theirs = stages(LEARN), stages(replace(LEARN, **{field: LEARN_AFTER_PCA[field]}))
    assert ours["PCA"] == theirs["PCA"]
    assert ours["centring"] == theirs["centring"]
    assert ours["training"] != theirs["training"]


def test_another_calibration_of_the_subspace_is_another_release():
    base = replace(LEARN, centring_share=0.0)
    assert stages(base)["PCA"] != stages(replace(base, calibration="published"))["PCA"]


STATISTIC = StatisticSpec(kind="histogram", mechanism="gaussian", low=0.0, high=10.0)
STATISTIC_CHANGES = {
    "kind": "mean",
    "low": 1.0,
    "high": 9.0,
    "epsilon": 2.0,
    "delta": 0.001,
    "mechanism": "laplace",
    "bins": 7,
    "seed": 1,
}


def statistic(spec=STATISTIC, dataset="digits", column=("digits", 0)) -> tuple[str, str]:
    return spec.charge(dataset, column, "age", PURE).release.identity


def test_every_field_of_a_statistic_is_sorted():
    # The column, or the numbers, are an argument of the charge and not a part of the spec.
    sorted_elsewhere = {"column"}
    assert set(STATISTIC_CHANGES) | sorted_elsewhere == {f.name for f in fields(StatisticSpec)}


@pytest.mark.parametrize("field", STATISTIC_CHANGES)
def test_another_statistic_is_paid_again(field):
    other = replace(STATISTIC, **{field: STATISTIC_CHANGES[field]})
    assert statistic(other) != statistic()


def test_other_numbers_are_paid_again():
    typed = [statistic(dataset=None, column=("typed", 1.0, n)) for n in (2.0, 3.0)]
    assert len({statistic(), statistic(column=("digits", 1)), *typed}) == 4


def test_a_sweep_over_two_data_sets_of_equal_size_pays_for_both():
    """Counts and settings are equal, so only the data set distinguishes the two releases."""
    spec = RunSpec.published(
        protocols=("ag",), calibration="analytic", samples=400, components=5, repetitions=2
    )
    sweep = Sweep(spec, (("dataset", ("digits", "patches")),))
    charges = compute_charges(collect(sweep).rows)
    assert {charge.release.dataset for charge in charges} == {"digits", "patches"}
    for charge in charges:
        book = Accountant(charge.release.dataset)
        assert book.charge(charge)
        assert book.n_releases == 2


def test_payments_of_two_data_sets_are_never_merged():
    (one,) = RUN.charges({"ag": HOLDS}, 1)
    other = replace(one, release=replace(one.release, dataset="mnist"))
    assert merge_charges([one, other]) == [one, other]


EVERY_PROTOCOL = RunSpec.published(
    protocols=("dpdis", "local", "pooled", "cape", "ag", "sulq", "modsulq", "ppca", "wishart"),
    calibration="analytic",
    repetitions=1,
    samples=300,
)


@pytest.mark.parametrize("split", ["equal", "random"])
@pytest.mark.parametrize("preparation", ["published", "bounded"])
def test_what_a_plan_says_is_what_its_rows_will_cost(split, preparation):
    spec = replace(EVERY_PROTOCOL, split=split, preparation=preparation)
    planned = {charge.release.identity: charge for charge in charges_of([spec])}
    paid = {charge.release.identity: charge for charge in compute_charges(list(run(spec)))}
    assert paid.keys() == planned.keys()
    for identity, charge in paid.items():
        assert charge.numbers == planned[identity].numbers
        assert charge.release.epsilon == pytest.approx(planned[identity].release.epsilon)


def test_a_plan_of_what_cannot_run_costs_nothing():
    assert charges_of([RunSpec(sites=5000, samples=None)]) == []


def test_variants_of_one_algorithm_are_told_apart():
    base = central_spec(RUN)
    noise = [of(VARIANTS[key].of(base), "ag") for key in VARIANTS if key.startswith("ag")]
    assert len(set.union(*noise)) == len(noise)


def part_of(partition: str, sites: tuple[int, ...] | None) -> Charge:
    return Charge(
        Release.of(HOLDS, key="k", label="k", dataset="d", partition=partition, sites=sites)
    )


def test_merging_with_a_charge_of_all_sites_charges_all_sites():
    assert part_of("five", None).merge(part_of("five", (0,))).release.sites is None
    assert part_of("five", (0,)).merge(part_of("five", None)).release.sites is None
    assert part_of("five", (1,)).merge(part_of("five", (0,))).release.sites == (0, 1)


def test_charges_of_two_partitions_are_not_merged():
    with pytest.raises(ParameterError, match="partition"):
        part_of("five", (0,)).merge(part_of("four", (0,)))
