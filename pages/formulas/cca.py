"""How the CCA page's numbers come about, in formulas."""

HOW_CCA_IS_COMPUTED = r"""
Everybody's two rows are joined to $z_n = [x_n\; y_n]$ with $\lVert z_n\rVert \le 1$. One release
holds everything CCA needs, the joint second moment with symmetric Gaussian noise (Imtiaz &
Sarwate, *Differentially-private canonical correlation analysis*):

$$\hat C = \frac1N Z^\top Z + E =
\begin{bmatrix} \hat C_{xx} & \hat C_{xy} \\ \hat C_{xy}^\top & \hat C_{yy} \end{bmatrix},
\qquad E_{ij} \sim \mathcal N(0, \tau^2).$$

Replacing one person moves it by at most $\sqrt 2 / N$. The poster's noise is
$\tau = \frac{\sqrt 2}{N\varepsilon}\sqrt{2\ln(1.25/\delta)}$, proven for $\varepsilon \le 1$; the
*analytic* calibration solves the exact profile of the Gaussian mechanism at every ε. The exact ε
of either is on the card.

The poster takes the leading eigenvectors of
$\hat C_{xx}^{-1}\hat C_{xy}\hat C_{yy}^{-1}\hat C_{yx}$. The same pairs come, stably, from the SVD
of the whitened cross block $\hat C_{xx}^{-1/2}\,\hat C_{xy}\,\hat C_{yy}^{-1/2}$. Noise makes
$\hat C$ indefinite, so its eigenvalues are first raised to a *floor* that is tied to τ: without
one, noise is whitened into correlations near 1.

What is shown is measured on the true data: the canonical correlations of $XU$ and $YV$, and

$$\text{captured share} = \frac{\sum_k \rho_k(XU, YV)}{\sum_k \rho_k^{\text{exact}}}.$$

**With sites**, each adds noise to its own joint moment and sends all of it, or its $R$ leading
directions; the aggregator averages what arrives and does the same. All that comes after the noise
is post-processing, so each person pays ε once, to their own site.

**Preparation.** On the *sphere* a private mean of both views is released first, with a share of
$\mu^2$ that public numbers decide, and each view of a person becomes

$$x_n \to \sqrt w\,\frac{x_n - m_x}{\lVert x_n - m_x\rVert}, \qquad
y_n \to \sqrt{1 - w}\,\frac{y_n - m_y}{\lVert y_n - m_y\rVert},$$

so that $\lVert z_n\rVert = 1$ for everybody and the sensitivity stays $\sqrt 2 / N$; a view that is
the mean counts as zero. *Bounded* clips $z_n$ to a public bound and subtracts the private mean's
outer product afterwards, *none* only clips. Both releases are one entry of the budget.
"""

ONLY_DIRECTIONS = """
**What may leave.** The guarantee covers the noisy joint moment, and with it U, V, the private
correlations and whatever is made from these alone. Scores are somebody's own row times U: they say
as much about that person as the row does, and so do clusters of them. The poster says so too.
Release the directions; whoever holds rows can project their own people at home.
"""
