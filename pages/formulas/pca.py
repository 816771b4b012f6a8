"""How it is computed, in formulas."""

HOW_IT_IS_COMPUTED = r"""
Each site $s$ holds $n_s$ rows of Euclidean norm at most 1 and their second moment
$A_s = \frac{1}{n_s} X_s^\top X_s$. It adds symmetric Gaussian noise,

$$\hat A_s = A_s + E_s, \qquad E_s \sim \mathcal N(0, \sigma_s^2),$$

keeps the leading $R$ eigenpairs, and sends $P_s = U_R |\Sigma_R|^{1/2}$. The aggregator takes the
top $K$ eigenvectors $V$ of $\sum_s \frac{n_s}{N} P_s P_s^\top$ (Imtiaz & Sarwate 2018,
Algorithm 1). What is shown is the captured energy

$$q(V) = \operatorname{tr}(V^\top A V) \quad\text{divided by its maximum}\quad q_0.$$

Replacing one person's row moves $A_s$ by at most $\sqrt 2 / n_s$. The exact ε of the noise is
the smallest one with

$$\delta \ge \Phi\!\left(\tfrac{\mu}{2} - \tfrac{\varepsilon}{\mu}\right)
- e^{\varepsilon}\, \Phi\!\left(-\tfrac{\mu}{2} - \tfrac{\varepsilon}{\mu}\right),
\qquad \mu = \frac{\sqrt 2}{n_s \sigma_s}$$

(Balle & Wang 2018). *Analytic* calibration solves this for $\sigma_s$. The *published* one is
$\sigma_s = \sqrt{2 \ln(1.25/\delta)} / (n_s \varepsilon)$.

On the **sphere**, the default, sites first release noisy means; every row then becomes $(x - m) /
\lVert x - m \rVert$ around their average $m$ (one site alone uses its own), drawn towards the
public middle by what of it is noise, and $A_s$ is the second moment of these. Mean and matrix count
one after the other, $\mu^2 = (2/n_s)^2/\sigma_{\text{mean}}^2 + 2/(n_s \sigma_s)^2$.

**Bounded**: a site also releases its noisy mean, and its matrix is centred
around everybody's; one site alone uses its own. One person moves both, and the worst pair of rows
for one is not the worst for the other: with noise $w$ times smaller on the mean,
$\mu = (\sqrt 2 + w^2/\sqrt 2) / (n_s \sigma_s)$ for $w^2 \le 2$.

**CAPE.** Site $s$ sends $A_s + e_s + g_s$; the masks $e_s$, of scale $a$, sum to zero, and the
noises $g_s$ have variance $b^2$. With $S$ sites, $H$ of which keep theirs to themselves (all but
one unless told otherwise), the aggregator who reads everything and a site that knows its own
part and the result reach

$$\mu^2_{\text{aggregator}} = \Delta^2 \left[\frac{1}{H b^2} + \frac{1 - 1/H}{a^2 + b^2}\right],
\qquad \mu^2_{\text{site}} = \frac{\Delta^2}{\min(H, S - 1)\, b^2},$$

with $\Delta = \sqrt 2\, S / N$. The larger is what holds.

**Secure sum** (Bonawitz and others 2017). Site $s$ sends $n_s A_s + g_s$ under pairwise masks that
leave the sum alone to be read. Where $d$ of $S$ sites may never answer and $H$ keep their masks and
noise to themselves, $h = \max(1, H - d)$ noises of scale $b$ are unknown to the aggregator, and

$$\mu_{\text{aggregator}} = \frac{\sqrt 2}{N\, b \sqrt h}, \qquad
\mu_{\text{site}} = \frac{\sqrt 2}{N\, b \sqrt{\min(h, U - 1)}}$$

with $N$ people at the $U$ sites that answer. The larger is what holds.

**Chain of sites** (Imtiaz and others 2016). No aggregator: the sites stand in a random order, and
site $s$, handed $P$, hands on the leading $R$ directions of $\frac{n P P^\top + n_s P_s
P_s^\top}{n + n_s}$, $n$ being the people behind $P$. The top $K$ of the last one is the result. It
reads the noise of DPdisPCA and promises the same, in $S$ rounds of the same bytes instead of one.

**Sites that drop out** never answer; which ones is drawn. Averages go over those that do, a holder
misses their people, and energy is still measured on everybody. In a chain a site that drops out
takes with it what it was handed, and the next one begins anew. A secure sum adds more noise from
the start, enough for those who are left. CAPE cannot go on: the masks of the
others would stay in the average.
"""
