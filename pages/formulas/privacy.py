"""How the pages about privacy are computed, in formulas."""

WHAT_IS_COUNTED = """
- **Counted:** each draw of noise at the settings on the screen, on whichever page: components and
  their eigenvalues, a mean, a variance or a histogram, both stages of a classifier, canonical
  pairs; every dot of a dot plot. *Redraw noise* and any change of ε, δ, calibration, noise shape,
  sites or people draws again, and is paid again.
- **Counted too:** every draw of a sweep, of a search or of a published figure that you run. Under a
  cap a whole sweep is paid before it begins, and a run of unknown cost is refused.
- **Free:** whatever else is computed from a noisy matrix that has been paid for. DPdisPCA, whole
  matrices and one site alone read the same noisy second moments, and K, R, the truncation, the
  rounding of messages and the eigenvalues only cut or read them differently.
- **Paid once:** the same settings with the same seed, however often and wherever they are shown.
- **Beyond any budget:** exact lines, energies measured on the raw rows, the published
  preparation, test errors. They are listed with a red badge. So are curves that a page draws
  beside its result: they study the method at settings nobody chose, and each of their draws would
  be a release. Under a cap they are left out.
- **Not entered:** examples with invented people: *What ε promises*, *Audit*, *Tutorials* (but for
  the digits of PCA, which are listed as beyond any budget), *How many people?*

A charge is entered for everybody in the data set, also where only some take part in a run; it is
a bound for each of them.

Composition takes the noise of different releases as independent, as a real deployment must draw it,
and so do a cap and the bound for whoever stops when it suits. In this laboratory the seed is held
while you move a slider, so that settings can be compared. With real data that would be fatal: from
$A + \\sigma_1 E$ and $A + \\sigma_2 E$ anybody can solve for $A$, without knowing the seed. Two
releases that share their noise do not compose: their joint ε is infinite. A red line says so where
the ledger can see it. *Redraw noise* draws afresh; the statistics of a column, and the estimators
of `dpcore`, draw other noise at every setting.
"""

HOW_SPENDING_COMPOSES = r"""
A Gaussian release with sensitivity $\Delta$ and noise $\sigma$ has $\mu = \Delta / \sigma$, and
releases about the same people compose exactly (Dong, Roth & Su 2022, corollary 3.3),

$$\mu_{\text{total}} = \sqrt{\mu_1^2 + \mu_2^2 + \dots},$$

for a number of releases and noises fixed beforehand. The total ε is the smallest one with

$$\delta \ge \Phi\!\left(\tfrac{\mu}{2} - \tfrac{\varepsilon}{\mu}\right)
- e^{\varepsilon}\, \Phi\!\left(-\tfrac{\mu}{2} - \tfrac{\varepsilon}{\mu}\right).$$

Where other kinds of noise are in it, the privacy loss distributions are convolved numerically,
rounded upwards (Google's dp-accounting). Nobody is at two sites, so releases by different sites of
one split do not add up: a person pays for what their own site sent. Across different splits the
worst site of each counts.
"""

WHEN_ONE_STOPS = r"""
**A plan.** The running total is ε at δ of releases that were fixed beforehand. Somebody who draws
at ε = 1 until the loss has outgrown the total by one half, 400 times at most, breaks it: where
δ = 0.01 is stated, 0.07 is what holds.

**A cap** (a filter). With $M$ the μ of a Gaussian release that has the cap's ε at its δ, each next
release is refused unless

$$\mu_1^2 + \mu_2^2 + \dots \le M^2.$$

Everything shown under the cap is then (ε, δ)-private together, whatever the next release was chosen
by and whenever one stops. For Gaussian noise nothing is lost to a plan. A purely ε-private release
counts with $\mu = 2\,\Phi^{-1}\!\left(\frac{e^{\varepsilon}}{1 + e^{\varepsilon}}\right)$, the
Gaussian curve through the corner of its own, which lies below it elsewhere.

**Stopping when it suits** (an odometer). For all moments at once the privacy loss stays below

$$\varepsilon_k = \min_c \left[c - \ln\left(1 - \frac{\delta_{M_k}(c)}{\delta_k}\right)\right],
\qquad M_k^2 = 2^k M_0^2, \quad \delta_k = \frac{\delta}{(\pi^2/3 - 1)(1 + |k|)^2},$$

but with probability δ, where $M_k^2$ is the next of these above the sum of μ², and $\delta_M(c)$
the profile above. (Rogers, Roth, Ullman & Vadhan 2016; Smith & Thakurta 2022; Whitehouse, Ramdas,
Rogers & Wu 2023.)
"""

HOW_THE_TEST_WORKS = r"""
The adversary knows every other row, and that yours is one of two. For Gaussian noise the best
statistic is the release along the line between the two noiseless answers. In units of $\sigma$ it
is $\mathcal N(0, 1)$ under $D'$ and $\mathcal N(\mu, 1)$ under $D$, with $\mu = \Delta / \sigma$.
With the threshold at $t$,

$$\text{type I} = 1 - \Phi(t), \qquad \text{type II} = \Phi(t - \mu),$$

and no test does better than the curve $\beta = \Phi(\Phi^{-1}(1 - \alpha) - \mu)$ (Dong, Roth &
Su 2022). An $(\varepsilon, \delta)$ promise alone allows every test above

$$\beta = \max\left\{0,\; 1 - \delta - e^{\varepsilon} \alpha,\;
e^{-\varepsilon} (1 - \delta - \alpha)\right\}$$

(Kairouz, Oh & Viswanath 2015). The two touch where the calibration is tight.

**Beliefs.** A purely ε-private release moves any odds by at most $e^{\varepsilon}$. A Gaussian one
moves the log-odds of the truth by $\mathcal N(\mu^2/2, \mu^2)$.
"""

HOW_THE_DIRECTION_TURNS = r"""
Rows lie in the unit disc, so replacing one of $n$ moves $A = \frac1n X^\top X$ by at most
$\sqrt 2 / n$. With isometric noise the vector
$\left(\frac{\hat A_{11} - \hat A_{22}}{2}, \hat A_{12}\right)$ is Gaussian with variance
$\sigma^2/2$ on each side of its mean $m$, and points at twice the angle of the first direction. So
the law of the direction is known exactly: a projected normal, with $R = \sqrt 2\,\|m\| / \sigma$
and $c = R \cos(2\theta - 2\theta_0)$,

$$p(\theta) = \frac{e^{-R^2/2}}{\pi} \left(1 + c\, \frac{\Phi(c)}{\varphi(c)}\right).$$

How far two laws can differ in the chance of any conclusion is their total variation distance.
"""

HOW_THE_ATTACK_WORKS = r"""
The attack draws releases under $D$ and under $D'$, neighbours on which the mechanism does worst,
and gives each a score that is larger where $D$ is likelier: the likelihood ratio where it is
known, else a linear score learnt on half of the trials.

- **Any mechanism.** A threshold is chosen on half of the scores. On the other half exact binomial
  limits (Clopper & Pearson 1934) give
  $\varepsilon \ge \ln \frac{P[E \mid D] - \delta}{P[E \mid D']}$.
- **Gaussian noise, or computed from it.** The area $a$ under the ROC curve is at most
  $\Phi(\mu/\sqrt 2)$, so its lower limit bounds $\mu$, and $\mu$ gives ε at δ. Batches of 50
  trials make $m$ independent comparisons, half as many as trials, and an area of at least $x$ is
  measured with a chance of at most $e^{-m\,\mathrm{kl}(x, a)}$ (Hoeffding 1963): that limit is
  **exact**, as the binomial ones are. The jackknife over batches is nearly always closer to the
  truth. It is **nominal**: its confidence is right in the limit, and measured here, not proved.

A site that takes part takes its own noise off the result before it scores it; the aggregator
scores every message; an outsider has the result alone.

Both data sets get the same random numbers, batch by batch: what the noise does to both drops out
of the comparison, while each release keeps its law. Nothing is assumed of how the two hang
together.

An exact bound above the claim proves the claim false, up to the stated confidence; a nominal one
points to it. A bound below proves nothing: the attack may be weak. Each point of the curve holds
with the stated confidence on its own; the verdict is taken once, at the last.
"""
