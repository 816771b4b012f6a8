"""How the central algorithms work, in formulas."""

CENTRAL = r"""
One aggregator holds $n$ rows of norm at most 1 and their second moment $A = \frac1n X^\top X$.

- **SuLQ** adds independent noise of variance $8 D^2 \ln^2(D/\delta) / (n\varepsilon)^2$ to all
  entries; what is decomposed is its symmetric part.
- **MOD-SuLQ** adds symmetric noise of standard deviation
  $\beta = \frac{D+1}{n\varepsilon}\sqrt{2\ln\frac{D^2+D}{2\sqrt{2\pi}\,\delta}}
  + \frac{1}{\sqrt\varepsilon\, n}$.
- **Analyze Gauss** adds symmetric noise calibrated to the sensitivity $\sqrt2/n$, which does not
  grow with $D$.
- **PPCA** draws the subspace $V$ itself, with density proportional to
  $\exp\!\big(\tfrac{n\varepsilon}{2}\operatorname{tr} V^\top A V\big)$: the exponential mechanism,
  whose score $\operatorname{tr} V^\top X^\top X V$ moves by at most 1 when one row is replaced,
  for any $K$.
- **Wishart difference** adds $W - W'$, independent Wishart matrices with $D + 1$ degrees of freedom
  and covariance $\tfrac{1}{n\varepsilon} I$: density proportional to
  $e^{-\frac{n\varepsilon}{2}\operatorname{tr} W}$. If a row $x$ becomes $y$,
  $xx^\top - yy^\top = P - Q$ with $P, Q \succeq 0$ and $\operatorname{tr} P + \operatorname{tr} Q
  \le 2$; the pair $(W + P/n, W' + Q/n)$ gives the same release from the other data and is at most
  $e^{\varepsilon}$ times less likely. Pure ε, drawn exactly.

(Chaudhuri, Sarwate & Sinha 2012; Dwork, Talwar, Thakurta & Zhang 2014.) The exact ε of the
Gaussian ones is that of their noise at the sensitivity $\sqrt2/n$ (Balle & Wang 2018). MOD-SuLQ's
bound grows with $D$, so its noise keeps far more than it promises, and less energy than it could.
"""

COMPLEXITY = r"""
With $\lambda_1 - \lambda_2$ the gap of the second moment and $\rho$ the correlation
$|\langle \hat v, v_1\rangle|$ that is wanted (Chaudhuri, Sarwate & Sinha 2012):

- **Theorem 3**: PPCA reaches $\rho$ with probability $1 - \eta$ if
  $n > \frac{d}{\varepsilon(1-\rho)(\lambda_1-\lambda_2)}
  \Big(\frac{\ln(1/\eta)}{d} + \ln\frac{4\lambda_1}{(1-\rho^2)(\lambda_1-\lambda_2)}\Big)$.
- **Theorem 4**: nobody with pure ε does with less than
  $\max\Big\{\frac{d}{\varepsilon\,\text{gap}},
  \sqrt{\frac{1-\phi}{80}}\,\frac{d}{\varepsilon\,\text{gap}\sqrt{1-\rho}}\Big\}$ people, for
  $\rho \ge 1 - \frac{1-\phi}{16}$.
- **Theorem 5**: MOD-SuLQ needs $n \ge c\,\frac{d^{3/2}\sqrt{\ln(d/\delta)}}{\varepsilon}
  (1 - c'(1-\rho))$; the constants are not given, so the line is drawn through the first measured
  point.

Measured: eigenvalues of trace 1, all equal but the first. The second moment is held at the
population's, so that what one sees is the cost of privacy alone; the smallest $n$ whose mean
correlation over 100 runs reaches $\rho$, by bisection. PPCA's draws are exact here.
"""

CHAINS = r"""
PPCA's law is $p(V) \propto \exp\!\big(\tfrac{n\varepsilon}{2}\operatorname{tr} V^\top A V\big)$.
In the eigenbasis of $A$, turn the plane of two coordinates by $\theta$, one leading and one
trailing: the exponent changes as $\kappa\cos(2\theta - \varphi)$, so given everything else
$2\theta$ is von Mises and is drawn exactly. A sweep does that once for every coordinate.

Split R-hat compares the chains' halves, by ranks and by tails; the effective sample size counts
the independent draws that the chains are worth (Vehtari and others 2021). The sampler goes on
until R-hat is below 1.05 and both sizes are at least 50, over the second half of the chains.

**What this means for the promise.** If, whatever the data, the law after $t$ sweeps is within
total variation $\eta_t$ of the exact one, then the draw is
$\big(\varepsilon,\ (1 + e^{\varepsilon})\,\eta_t\big)$-private: $P(S) \le \pi(S) + \eta_t \le
e^\varepsilon \pi'(S) + \eta_t \le e^\varepsilon P'(S) + (1 + e^\varepsilon)\eta_t$. Diagnostics
are evidence that $\eta_t$ is small, for these data; they prove nothing about others.
"""
