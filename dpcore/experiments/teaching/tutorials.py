"""Six short tutorials as data: text and code, run live on a page or taken home as a notebook."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from dpcore.errors import ParameterError
from dpcore.experiments.pca.export import notebook
from dpcore.privacy import Guarantee

TEXT, CODE = "markdown", "code"


@dataclass(frozen=True)
class Tutorial:
    """Cells in order; code may say `{epsilon}`, which whoever reads it chooses.

    Parameters
    ----------
    key, title : str
    about : str
        One sentence.
    cells : tuple of (kind, source)
        Kind is "markdown" or "code".
    """

    key: str
    title: str
    about: str
    cells: tuple[tuple[str, str], ...]

    def filled(self, epsilon: float) -> list[tuple[str, str]]:
        """The cells with epsilon put in."""
        return [
            (kind, source.replace("{epsilon}", repr(float(epsilon))) if kind == CODE else source)
            for kind, source in self.cells
        ]


@dataclass(frozen=True)
class Output:
    """What one code cell printed, the value of its last line, a figure or None, and what the
    private results it named promise."""

    printed: str
    value: object = None
    promises: dict[str, Guarantee] = field(default_factory=dict)


def run_cells(cells: list[tuple[str, str]]) -> tuple[Output, ...]:
    """Run code cells in one fresh namespace, as a notebook would; one output a code cell."""
    namespace: dict[str, object] = {"__name__": "tutorial"}
    return tuple(_run_cell(source, namespace) for kind, source in cells if kind == CODE)


def _run_cell(source: str, namespace: dict[str, object]) -> Output:
    lines: list[str] = []
    # Standard output belongs to the whole server; a print of its own belongs to this run.
    namespace["print"] = lambda *words: lines.append(" ".join(map(str, words)))
    tree = ast.parse(source)
    before = set(namespace)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<tutorial>", "exec"), namespace)
    value = None
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<tutorial>", "eval"), namespace)
    named = {name: result for name, result in namespace.items() if name not in before}
    # Results carry a guarantee, fitted estimators a guarantee_.
    found = {
        name: getattr(result, "guarantee", getattr(result, "guarantee_", None))
        for name, result in named.items()
    }
    promises = {name: each for name, each in found.items() if isinstance(each, Guarantee)}
    return Output("\n".join(lines), value, promises)


def run_tutorial(key: str, epsilon: float) -> tuple[Output, ...]:
    """Outputs of a tutorial's code cells at this epsilon."""
    return run_cells(tutorial(key).filled(epsilon))


def tutorial_notebook(key: str, epsilon: float) -> str:
    """A tutorial as a Jupyter notebook."""
    chosen = tutorial(key)
    intro = (
        f"# {chosen.title}\n\n{chosen.about}\n\nRun it from the folder that holds `dpcore`, with "
        "its `requirements.txt` installed."
    )
    return notebook([(TEXT, intro), *chosen.filled(epsilon)])


def tutorial(key: str) -> Tutorial:
    """The tutorial of this name.

    Raises
    ------
    ParameterError
        Naming the known ones.
    """
    if key not in TUTORIALS:
        raise ParameterError("tutorial", f"one of {', '.join(TUTORIALS)}", key)
    return TUTORIALS[key]


_AGES = """\
import numpy as np

rng = np.random.default_rng(7)
ages = rng.normal(44, 17, size=2000).clip(0, 100).round()   # two thousand people
bounds = (0, 100)                                           # public: nobody is older"""

_DIGITS = """\
import numpy as np
from dpcore.data import load_dataset, prepare

digits = load_dataset("digits")
rows = prepare(digits, mode="private").X      # divided by a public bound, cut to length 1
print(rows.shape, "rows no longer than", np.linalg.norm(rows, axis=1).max().round(3))"""

_GROUPS = """\
import numpy as np

rng = np.random.default_rng(3)
group = rng.integers(3, size=20000)                         # twenty thousand people
centres = rng.normal(size=(3, 20))                          # twenty measurements each
measured = centres[group] + 0.8 * rng.normal(size=(20000, 20))
rows = measured / 8.0                                       # 8 is a public bound ...
rows /= np.maximum(np.linalg.norm(rows, axis=1), 1)[:, None]    # ... longer rows are cut
learn, test = np.arange(15000), np.arange(15000, 20000)"""

_TUTORIALS = (
    Tutorial(
        "mean",
        "Private mean",
        "The average age of two thousand people, without giving any one of them away.",
        (
            (
                TEXT,
                "An age lies in [0, 100], whoever somebody is. Replacing one person moves the "
                "mean of $n$ ages by at most $100 / n$: noise of that size hides them.",
            ),
            (CODE, _AGES),
            (
                CODE,
                """\
from dpcore.statistics import private_mean

mean = private_mean(ages, bounds=bounds, epsilon={epsilon}, rng=rng)
print(f"true {ages.mean():.3f}, private {mean.value:.3f}, noise scale {mean.scale:.3g}")""",
            ),
            (TEXT, "Every further release costs another ε. Here is how far ten of them scatter."),
            (
                CODE,
                """\
draws = [private_mean(ages, bounds=bounds, epsilon={epsilon}, rng=rng).value for _ in range(10)]
print("errors:", np.round(np.array(draws) - ages.mean(), 3))""",
            ),
            (TEXT, "How many people does an error below half a year take, 95 times in 100?"),
            (
                CODE,
                """\
from dpcore.statistics import people_needed

print(people_needed(0.5, bounds=bounds, epsilon={epsilon}, probability=0.95), "people")""",
            ),
        ),
    ),
    Tutorial(
        "variance",
        "Private variance",
        "How spread out the ages are, and why the bounds matter twice as much here.",
        (
            (
                TEXT,
                "On $[a, b]$ one person moves the variance by at most $(b-a)^2 (n-1)/n^2$: bounds "
                "twice as wide cost four times the noise.",
            ),
            (CODE, _AGES),
            (
                CODE,
                """\
from dpcore.statistics import private_variance

variance = private_variance(ages, bounds=bounds, epsilon={epsilon}, rng=rng)
print(f"true {ages.var():.2f}, private {variance.value:.2f}, scale {variance.scale:.3g}")
print(f"standard deviation {max(variance.value, 0) ** 0.5:.2f} years, at no further cost")""",
            ),
            (TEXT, "Bounds that are too tight move people: less noise, but a bias nobody sees."),
            (
                CODE,
                """\
from dpcore.statistics import clipping_bias

for high in (60, 80, 100, 200):
    noise = private_variance(ages, bounds=(0, high), epsilon={epsilon}, rng=rng).scale
    bias = clipping_bias(ages, bounds=(0, high), statistic="variance")
    print(f"[0, {high}]  bias {bias:8.2f}   noise scale {noise:.3f}")""",
            ),
        ),
    ),
    Tutorial(
        "histogram",
        "Private histogram",
        "Counts in public bins: one person leaves a bin and enters another, and that is all.",
        (
            (
                TEXT,
                "Replacing one person changes two counts by one each, however many bins there "
                "are. The edges are public; edges read from the data would give people away.",
            ),
            (CODE, _AGES),
            (
                CODE,
                """\
from dpcore.statistics import private_histogram

edges = np.arange(0, 101, 10)
counts = private_histogram(ages, edges=edges, epsilon={epsilon}, rng=rng)
exact = np.histogram(ages, edges)[0]
for low, true, private in zip(edges, exact, counts.value):
    print(f"{low:3d} to {low + 10:3d}   true {true:4d}   private {private:7.1f}")""",
            ),
            (TEXT, "Rounding, or raising negative counts to 0, is post-processing: free."),
            (
                CODE,
                """\
from dpcore.figures.families.distributions import histogram_bars

histogram_bars(edges, exact, counts.value.round().clip(0))""",
            ),
        ),
    ),
    Tutorial(
        "pca",
        "Private PCA",
        "Principal components of handwritten digits by Analyze Gauss: noise on the second moment.",
        (
            (
                TEXT,
                "Rows of length at most 1 have a second moment $A = X^\\top X / n$, which one "
                "person moves by at most $\\sqrt 2 / n$. Symmetric Gaussian noise is added to it "
                "once; the eigenvectors of what results are free.",
            ),
            (CODE, _DIGITS),
            (
                CODE,
                """\
from dpcore.pca import AnalyzeGaussPCA

pca = AnalyzeGaussPCA(10, epsilon={epsilon}, delta=0.01, random_state=0).fit(rows)
print("components", pca.components_.shape, "noise", pca.noise_scale_)
print(f"promise: epsilon {pca.guarantee_.epsilon:.4g} at delta {pca.guarantee_.delta:g}")""",
            ),
            (TEXT, "How much of the energy of the exact components do the private ones keep?"),
            (
                CODE,
                """\
from dpcore.spectra import captured_energy, leading_eigenpairs, second_moment

moment = second_moment(rows)
_, exact = leading_eigenpairs(moment, 10)
kept = captured_energy(pca.components_, moment) / captured_energy(exact, moment)
print(f"{kept:.1%} of the energy of exact PCA")""",
            ),
        ),
    ),
    Tutorial(
        "svm",
        "Private support vector machine",
        "PCA feeding an SVM, with one budget for both: the poster's experiment, all private.",
        (
            (
                TEXT,
                "Three tenths of ε go to the components, the rest to the classifier. The first "
                "is $(\\varepsilon_1, \\delta)$-private, the second pure: together they cost "
                "$(\\varepsilon_1 + \\varepsilon_2, \\delta)$.",
            ),
            (CODE, _GROUPS),
            (
                CODE,
                """\
from dpcore.classification import PrivateSVM
from dpcore.pca import AnalyzeGaussPCA

epsilon, ill = {epsilon}, group == 0
pca = AnalyzeGaussPCA(3, epsilon=0.3 * epsilon, delta=1e-5, random_state=0).fit(rows[learn])
svm = PrivateSVM(epsilon=0.7 * epsilon, regularization=1e-3, random_state=0)
svm.fit(pca.transform(rows[learn]), ill[learn])
error = 1 - svm.score(pca.transform(rows[test]), ill[test])
print(f"test error {error:.1%}; always saying 'not ill' {ill[test].mean():.1%}")
print("noise is added by", svm.guarantee_.noise_added_by)""",
            ),
            (TEXT, "The same without PCA and without any noise, for comparison: not private."),
            (
                CODE,
                """\
exact = PrivateSVM(epsilon=np.inf, regularization=1e-3).fit(rows[learn], ill[learn])
print(f"test error without privacy {1 - exact.score(rows[test], ill[test]):.1%}")""",
            ),
        ),
    ),
    Tutorial(
        "logistic",
        "Private logistic regression",
        "Three groups of people, one against the rest, and what three classifiers cost.",
        (
            (
                TEXT,
                "Three groups are three classifiers of the same people, each at a third of ε. "
                "Objective perturbation adds noise to what is minimised, not to the result.",
            ),
            (CODE, _GROUPS),
            (
                CODE,
                """\
from dpcore.classification import PrivateLogisticRegression

model = PrivateLogisticRegression(epsilon={epsilon}, regularization=1e-3, random_state=0)
model.fit(rows[learn], group[learn])
print(f"accuracy {model.score(rows[test], group[test]):.1%}, guessing {1 / 3:.1%}")
print("each classifier:", model.perturbation_)""",
            ),
            (TEXT, "How it falls with ε: many fits at once, the mean of five draws each."),
            (
                CODE,
                """\
from dpcore.classification import fit_many

epsilons = [0.03, 0.1, 0.3, 1.0, 3.0]
rngs = np.random.default_rng(1).spawn(5)
fits = fit_many(model, rows[learn], group[learn], epsilons=epsilons, rngs=rngs)
for epsilon, scores in zip(epsilons, fits.score(rows[test], group[test])):
    print(f"epsilon {epsilon:<5} accuracy {scores.mean():.1%}")""",
            ),
            (TEXT, "How sure it is about the first three test people: post-processing, free."),
            (CODE, "print(model.predict_proba(rows[test[:3]]).round(2))"),
        ),
    ),
)
TUTORIALS: dict[str, Tutorial] = {tutorial.key: tutorial for tutorial in _TUTORIALS}
