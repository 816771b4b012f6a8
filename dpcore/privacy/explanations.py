"""What a guarantee takes for granted, and what stands behind each line of its card.

A member of `Assumption` is its sentence, so that it stands in `Guarantee.assumptions` as it is.
Paragraphs have an address of their own; they are found by the keys of `EXPLANATIONS` for what the
card states, and by the assumption itself for what it takes for granted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Assumption(StrEnum):
    """A condition of a guarantee, as a full sentence."""

    ONE_ROW_A_PERSON = "Each person is one row; somebody with k rows is protected k times less."
    ROW_OF_ONE_PERSON = (
        "Each row depends on its own person alone: nothing was fitted to everybody's rows (a "
        "scaler, a mean, a vocabulary) before the noise."
    )
    PUBLIC_COUNTS = "The number of people, in all and at each site, is public."
    PUBLIC_BOUND = "The bound on a row's norm was chosen without looking at the data."
    PUBLIC_RANGE = "The bounds, or the edges of the bins, were chosen without looking at the data."
    PUBLIC_LABELS = "Which labels there are is public; it is read from the labels given."
    DISJOINT_SITES = "Nobody's row is held by more than one site."
    HONEST_SITES = (
        "Sites are honest but curious: they follow the protocol, "
        "and may study everything they receive."
    )
    ENOUGH_HONEST_SITES = (
        "At least as many sites as stated keep their masks and their noise to themselves."
    )
    JOINT_MASKS = "The zero-sum masks are drawn jointly, and nobody outside the sites learns them."
    AGREED_MASKS = (
        "Each pair of sites agrees on its masks in secret, and nobody gets the sum of fewer sites "
        "than answered."
    )
    TRUSTED_HOLDER = "Whoever adds the noise holds everybody's raw rows and is trusted with them."
    SECRET_SEED = (
        "The seed of the noise stays secret, and no stream serves two releases; in this "
        "laboratory the seed is shown, and held, so that results can be repeated and compared."
    )
    EXACT_DRAWS = (
        "Every draw follows its law exactly; a Markov chain only comes close, "
        "and its diagnostics say how close."
    )
    VERDICT_WITH_HOLDER = (
        "Whether the Markov chains converged, their diagnostics and how long they ran stay with "
        "the holder of the rows: all of it is worked out from the rows, and ε does not cover it."
    )
    FLOAT_ARITHMETIC = (
        "Noise is drawn in floating-point arithmetic; "
        "attacks on the last bits of a number are not covered."
    )
    FEW_DIGITS = (
        "Nobody reads every digit: the gaps of floating-point Laplace noise can give values away "
        "(Mironov 2012), so publish no more digits than the noise scale calls for."
    )


@dataclass(frozen=True)
class Explained:
    """A text of one paragraph, under a title of ASCII letters that its anchor is made of.

    No formulas: a browser fetches what draws them once the page is there, and the paragraph
    somebody was led to would slide away.
    """

    title: str
    text: str

    @property
    def anchor(self) -> str:
        """Where a page's link to it leads."""
        return self.title.lower().replace(" ", "-")


STATED: dict[str, Explained] = {
    "asked": Explained(
        "Asked",
        "The ε and δ that the controls say. The scale of the noise is worked out from them by the "
        "chosen calibration. Asking is not having: a formula can be generous, or proven only for "
        "some ε, so the next line says what holds.",
    ),
    "exact": Explained(
        "Holds",
        "The smallest ε that the noise really gives at this δ. For Gaussian noise it is the root "
        "of the exact profile (Balle & Wang 2018), so nothing smaller is true and nothing larger "
        "is needed. It can be better than what was asked, or worse: the published noise asked for "
        "ε = 10 gives 20. It is that of everything the noise was added to, the private mean "
        "included, for the two rows that differ most in all of it together; with a single column, "
        "where rows cannot differ as much, it is a bound. A few directions, or a rounded message, "
        "are cut from that and give away at most as much; so does the mean, drawn towards the "
        "public middle by what of it is noise.",
    ),
    "against": Explained(
        "Holds against",
        "Not everybody sees the same. Somebody with the result sees what is published. The "
        "aggregator reads every message besides. A participating site has the result, and knows "
        "its own rows and noise: where sites share the noise between them, under CAPE and in a "
        "secure sum, it can take its own part off, and less is left to hide the others. There both "
        "may have friends among the sites, all but the number counted on: unless told otherwise, "
        "one. Each is taken at its strongest, knowing everybody's row but yours, and the ε above "
        "is the largest of theirs. Whoever is trusted holds the raw rows, "
        "and nothing is promised against that one; nor against your own site, which has your row.",
    ),
    "delta": Explained(
        "Delta in words",
        "A slack on every probability the promise speaks of: an event may be likelier with your "
        "row by a factor of e^ε, plus δ. At δ = 1 in 100 a mechanism that publishes one row in "
        "a hundred as it is would pass, so δ should be well below one over the number of people. "
        "The papers use 0.01, and so does this laboratory until you move it.",
    ),
    "relation": Explained(
        "Neighbours",
        "Two data sets are neighbours when they differ in one person's row, which is replaced by "
        "any other that the bound allows. The number of people is the same in both. Under the "
        "other common relation, where a row is left out, one person moves less and the same noise "
        "has a smaller ε: two tools that both print ε = 1 may promise different things.",
    ),
    "odds": Explained(
        "Odds",
        "Somebody knows every other row, and that yours is one of two. Pure privacy keeps the "
        "odds between the two within a factor of e^ε, whatever is released. Gaussian noise does "
        "so only most of the time, and how often it does not is a larger number than δ: the card "
        "states that number, exactly, for odds that grow and odds that shrink together. Of "
        "unlike releases composed only ε and δ are known: the card then states the most that any "
        "such release may do, at a factor of 2e^ε.",
    ),
    "power": Explained(
        "Strongest test",
        "The same adversary cries out when the release looks like your row, and may be wrong once "
        "in twenty when it is not. This is how often the best of all such tests finds you when it "
        "is. Without any privacy it would be always; a test that ignores the release finds you "
        "once in twenty.",
    ),
    "guess": Explained(
        "Best guess",
        "A coin decides whether your row or another goes in; the adversary sees the release and "
        "guesses which. This is how often the best strategy is right, rounded up. A coin is right "
        "half of the time.",
    ),
    "noise": Explained(
        "Noise",
        "Who adds it and where, its standard deviation σ, and the sensitivity: how far replacing "
        "one row can move the result before noise is added. Only their ratio matters to privacy.",
    ),
}

ASSUMED: dict[Assumption, Explained] = {
    Assumption.ONE_ROW_A_PERSON: Explained(
        "One row a person",
        "The promise is about replacing one row. Whoever has k rows, a patient with k visits say, "
        "is protected k times less: ε becomes kε, and δ grows faster than that. Add up or "
        "average each person's rows first. The laboratory takes every row for a person.",
    ),
    Assumption.ROW_OF_ONE_PERSON: Explained(
        "Rows of their own",
        "Replacing a person is taken to replace one row and to leave the others as they are. A "
        "scaler, a mean, a vocabulary or an imputer that was fitted to everybody's rows makes each "
        "row depend on everybody: one person moves them all. With a StandardScaler in front of "
        "Analyze Gauss on rows that are clipped and not centred, a single row of extreme values "
        "among the 1,797 digits makes ε 3,752 under a card that says 1. Scale by numbers that were "
        "public beforehand. The estimators warn "
        "where a scikit-learn pipeline fits something before them. What was done to the rows by "
        "hand they cannot see.",
    ),
    Assumption.PUBLIC_COUNTS: Explained(
        "Public counts",
        "Neighbours have equally many people, so the number of people, in all and at each site, "
        "is not hidden, and the scale of the noise is worked out from it. Where the number itself "
        "would tell something, as at a clinic for one disease, it has to be estimated privately. "
        "The laboratory prints it.",
    ),
    Assumption.PUBLIC_BOUND: Explained(
        "Public bound",
        "Noise has to cover the longest row there could be, not the longest there is. A bound "
        "read from the data is moved by one person, and every result scaled by it gives that "
        "person away. Choose it from the domain, a pixel's range say, and shorten what is longer. "
        "The private preparation does so; the published one divides by the longest row, and the "
        "card then carries a red badge.",
    ),
    Assumption.PUBLIC_RANGE: Explained(
        "Public range",
        "The bounds of a mean, or the edges of a histogram, come from what is known of the "
        "quantity. The smallest and the largest value are two people's values: edges read from "
        "the data publish both exactly, whatever noise the counts have. On the Statistics page "
        "the bounds are yours to set before you look, and a toggle shows the mistake.",
    ),
    Assumption.PUBLIC_LABELS: Explained(
        "Public labels",
        "A classifier has a part for each label, so which labels there are shows in its shape. A "
        "label that only one person has would give that person away. Fix the list beforehand. The "
        "laboratory reads it from the labels, which for its own data sets everybody knows.",
    ),
    Assumption.DISJOINT_SITES: Explained(
        "Disjoint sites",
        "Each site protects its own rows. Somebody whose row lies at two hospitals is in two "
        "releases, and pays for both. Settle beforehand who keeps whom. The laboratory deals "
        "every row to one site.",
    ),
    Assumption.HONEST_SITES: Explained(
        "Honest but curious sites",
        "A site sees its own people's rows, adds the noise it is meant to add, and sends what it "
        "is meant to send. It may keep and study whatever it receives. A site that leaves out its "
        "noise takes the promise from its own people, and no formula at the aggregator brings it "
        "back; under CAPE and in a secure sum, where noise is shared, from others too. The "
        "laboratory runs all sites itself, as the protocol says.",
    ),
    Assumption.ENOUGH_HONEST_SITES: Explained(
        "Enough honest sites",
        "Under CAPE and in a secure sum a site's noise is small, and masks hide the rest. Sites "
        "that tell the aggregator, or one another, their masks and noise uncover part of everybody "
        "else's. The ε stated counts on H sites that do not, all but one unless told otherwise; "
        "with fewer it is larger. A site that takes part always knows its own, so even if all are "
        "counted on, the noise of the others alone is left against it.",
    ),
    Assumption.JOINT_MASKS: Explained(
        "Masks drawn jointly",
        "CAPE's masks add up to zero over the sites, so they cannot be drawn by each on its own. "
        "Whoever learns them, a server that deals them out say, can take them off again, and what "
        "is left is too little noise. Real deployments use secure aggregation. The laboratory "
        "draws only their sum, which is zero.",
    ),
    Assumption.AGREED_MASKS: Explained(
        "Masks agreed in pairs",
        "Under a secure sum each pair of sites agrees on a mask that one adds and the other takes "
        "off, modulo a power of two: a message alone is noise, and only the sum of all says "
        "anything. Whoever hears the keys of a pair, or is sent the same noisy numbers once with "
        "and once without a site, gets that site's message bare, under a part of the noise. "
        "A site that is asked again must draw and pay again. The laboratory draws the sum alone.",
    ),
    Assumption.TRUSTED_HOLDER: Explained(
        "Trusted with the rows",
        "Somebody has everybody's raw rows in one place and adds noise once. The promise is about "
        "what is published afterwards; that holder, and whoever breaks in there, knows it all. "
        "This is the trust that distributed protocols do away with. In the laboratory it is the "
        "server you look at.",
    ),
    Assumption.SECRET_SEED: Explained(
        "Secret seed",
        "Noise that somebody can draw again can be taken off again. A real release takes its seed "
        "from the operating system and forgets it. Noise that two releases share can be taken off "
        "without the seed: from A + σE and A + τE anybody solves for A. Their joint ε is then "
        "infinite, whatever each of them says, and no ledger may add them up. The estimators draw "
        "other noise for every setting and save nothing that could draw it again. Here the seed "
        "stands in the sidebar and in every script you take away, and the noise is held while you "
        "move a slider, so that figures can be repeated and curves are smooth: what you see here "
        "is not protected, and need not be where the data are public. Of a table of your own it "
        "is for your eyes alone, whatever a card says.",
    ),
    Assumption.EXACT_DRAWS: Explained(
        "Exact draws",
        "The proof is about a draw from one exact law. A Markov chain stopped too early still "
        "remembers where it began, and the ε it was meant to have is then no bound on anything. "
        "Split R-hat and effective sample size are evidence that chains have forgotten, not "
        "proof. Where they do not pass, the card says that nothing is promised; Inside the "
        "sampler shows it happen.",
    ),
    Assumption.VERDICT_WITH_HOLDER: Explained(
        "Verdict on chains",
        "The chains walk over a landscape made of everybody's rows, so that R-hat, effective "
        "sample sizes, the number of sweeps, the seconds they took and the verdict itself, "
        "converged or not, may change with one row. The promise is about one thing: the subspace "
        "that an exact draw releases. A holder who publishes only when the chains converge tells "
        "the world that they did, and no ε here accounts for it.",
    ),
    Assumption.FLOAT_ARITHMETIC: Explained(
        "Floating point",
        "The proofs are about real numbers. Computers draw noise from a grid, finer here and "
        "coarser there, and the last bits of a released number can say which values were possible "
        "before the noise. Deployments round to a grid or use discrete noise. The laboratory does "
        "not, and shows few digits.",
    ),
    Assumption.FEW_DIGITS: Explained(
        "Few digits",
        "Laplace noise drawn as a logarithm leaves gaps between the numbers it can reach, and with "
        "all sixteen digits in hand the gaps tell true values apart (Mironov 2012). Publish no "
        "more digits than the noise scale calls for. The page shows five; a CSV has them all.",
    ),
}


def explained(key: str) -> Explained:
    """The paragraph of a card's row, by the key of its explanation, or of an assumption."""
    return ASSUMED[key] if isinstance(key, Assumption) else STATED[key]
