"""The command `label`: privacy label of a protocol at a setting."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from dpcore.command_line.options import (
    Commands,
    add_run_options,
    path,
    print_json,
    spec_from,
)
from dpcore.data.dataset import DatasetStatus
from dpcore.data.splits import split_sites
from dpcore.errors import ParameterError
from dpcore.experiments.pca import RunSpec
from dpcore.pca.protocols.protocol import Where
from dpcore.pca.protocols.register import PROTOCOLS
from dpcore.streams import Purpose, stream

if TYPE_CHECKING:
    pass


def add_label_command(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "label",
        help="the privacy label of a protocol at a setting: one page, or JSON",
        description="Write the guarantee of a run on one card: protected people, ε as frequencies, "
        "adversaries, unprotected quantities, trusted parties. It is marked as a simulation, reads "
        "no row and draws nothing; a release has its own label in its folder.",
    )
    add_run_options(parser)
    parser.add_argument(
        "--audit",
        type=int,
        metavar="TRIALS",
        help="first attack the mechanism as each adversary, in this number of releases with and "
        "without one person, and add the result (default: no attack)",
    )
    parser.add_argument(
        "--out",
        type=path,
        metavar="FILE",
        help="write it as label.html or label.json, by the ending (default: JSON on standard "
        "output)",
    )
    parser.set_defaults(command=_label, protocols="dpdis")


def _label(arguments: argparse.Namespace) -> int:
    from dpcore.audit_cases.attack import CaseAttack, named_cases
    from dpcore.data import dataset_status
    from dpcore.privacy.label import audit_in_words, label_of
    from dpcore.privacy.label_page import label_page
    from dpcore.release.certificate import as_json

    spec, out = spec_from(arguments), arguments.out
    if len(spec.protocols) != 1:
        raise ParameterError("protocol", "one, for a label", ",".join(spec.protocols))
    if out is not None and out.suffix not in (".html", ".json"):
        raise ParameterError("out", "a file that ends in .html or .json", str(out))
    key, dataset = spec.protocols[0], dataset_status(spec.dataset)
    guarantee = spec.guarantee(key, dataset)
    centring = "sphere" if spec.on_sphere else "private mean"
    attacked = [
        case
        for case in named_cases().values()
        if case.covers == f"pca.{key}" and case.is_sound and case.centring == centring
    ] if arguments.audit is not None else []  # fmt: skip
    people, sites = spec.samples or dataset.n_samples, spec.sites
    if PROTOCOLS[key].where is Where.FIRST_SITE:
        people, sites = _n_rows_of_first_site(spec, dataset), 1
    label = label_of(
        guarantee,
        f"{PROTOCOLS[key].title} on {dataset.title}",
        is_simulation=True,
        people=people,
        sites=sites if PROTOCOLS[key].has_sites else None,
        not_protected=(
            "Centring and scaling read the rows without noise; the guarantee excludes them.",
        )
        * (spec.reads_rows_first and guarantee.is_private),
        total="A simulation: nothing is charged.",
        checked=[
            audit_in_words(CaseAttack(case, n_trials=arguments.audit, seed=spec.seed).run())
            for case in attacked
        ],
    )
    if out is None:
        print_json(label.as_dict())
    elif out.suffix == ".json":
        out.write_bytes(as_json(label.as_dict()))
    else:
        out.write_text(label_page(label), encoding="utf-8")
    return 0


def _n_rows_of_first_site(spec: RunSpec, dataset: DatasetStatus) -> int:
    sizes = dataset.site_sizes
    sites = split_sites(
        spec.samples or dataset.n_samples,
        spec.sites,
        # Sites with skewed labels have equal sizes.
        how="equal" if spec.split == "dirichlet" else spec.split,
        labels=np.repeat(np.arange(len(sizes)), sizes) if sizes else None,
        rng=stream(spec.seed, Purpose.SPLIT, 0),
    )
    return len(sites[0])
