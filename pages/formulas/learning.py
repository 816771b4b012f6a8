"""How statistics and classifiers are computed, in formulas."""

CLASSIFICATION = r"""
Rows $x$ have norm at most 1: on the *sphere* they are $(x - m) / \lVert x - m \rVert$ around a
private mean $m$ of all classes together, whose share is found from public numbers, or $m = 0$
where it would cost more than it is worth; *bounded* and *none* clip them to a public bound. A row
that is $m$ counts as zero. A private method gives $V \in \mathbb R^{K \times D}$ and rows become
$z = V x$, which are no longer than $x$. The classifier minimises

$$J(w) = \frac1n \sum_i \ell(y_i\, w^\top z_i) + \frac{\Lambda}{2} \lVert w \rVert^2
+ \frac{b^\top w}{n} + \frac{\Delta}{2} \lVert w \rVert^2,$$

where $b$ is noise of density $\propto e^{-\beta \lVert b \rVert}$ that makes the minimiser
pure $\varepsilon_2$-private (objective perturbation, Chaudhuri, Monteleoni & Sarwate 2011);
$\ell$ is the Huber hinge or the logistic loss, and without privacy $b = 0$. $m > 2$ classes are
trained one against the rest, each at $\varepsilon_2 / m$.
A solver only comes near the minimiser: it stops at a gradient of a length $\gamma$ fixed
beforehand, within $\gamma / (\Lambda + \Delta)$, and a hundredth of $\varepsilon_2$ goes into
noise that hides the rest of the way (Iyengar and others 2019).

*One budget.* PCA is $(\varepsilon_1, \delta)$-private, training is $(\varepsilon_2, 0)$-private,
together they are $(\varepsilon_1 + \varepsilon_2, \delta)$-private. A private mean and a Gaussian
PCA are one Gaussian release: $\mu^2 = \mu_{\text{mean}}^2 + \mu_{\text{PCA}}^2$ belongs to
$(\varepsilon_1, \delta)$. The card also gives the smaller bound from privacy loss distributions.

*Centring.* A mean of rows of norm 1 moves by at most $2/n$. It is released with Gaussian noise and
taken from every row. Of bounded rows what is left is cut to 0.6; all later noise is that much
smaller.

*Random subspace.* Uniform over all subspaces of dimension $K$, drawn without the data: it costs
no budget, and by Johnson and Lindenstrauss it keeps distances well enough to classify by.
"""

STATISTICS = r"""
Values are moved into the public bounds $[a, b]$ first, so that replacing one of the $n$ people
moves

$$\text{mean by } \frac{b-a}{n}, \qquad \text{variance by } \frac{(b-a)^2 (n-1)}{n^2}, \qquad
\text{counts by } 2 \text{ in } \ell_1,\ \sqrt2 \text{ in } \ell_2.$$

*Laplace* adds noise of scale sensitivity$/\varepsilon$ and is pure (Dwork, McSherry, Nissim &
Smith 2006). *Gaussian* adds $\mathcal N(0, \sigma^2)$ with the smallest $\sigma$ that satisfies
$\delta \ge \Phi(\frac{\Delta}{2\sigma} - \frac{\varepsilon\sigma}{\Delta}) -
e^{\varepsilon}\,\Phi(-\frac{\Delta}{2\sigma} - \frac{\varepsilon\sigma}{\Delta})$
(Balle & Wang 2018).

*Bounds.* With tight bounds many values are moved: bias, which more people do not cure. With wide
ones every value needs more noise. The error to expect is
$\sqrt{\text{bias}^2 + \text{variance of the noise}}$.
"""
