"""How plans and frontiers are computed, in formulas."""

HOW_A_PLAN_IS_FOUND = r"""
The captured energy $q(V)/q_0$ grows with ε and with the people of a site, and falls with the
number of sites, so the cheapest value that reaches the target is found by bisection over values
10 % apart. For R, one decomposition serves every value and all of them are run. Every run of a
search meets the same draws of the noise: neighbours differ by what is asked, not by luck. The
target is reached where the mean over the draws reaches it; the values single draws would need
are given beside it.

Each calibration gives a site of $n$ people the noise

$$\sigma = \frac{m(\varepsilon, \delta)}{n}.$$

With the people, the sites, $K$, $R$, the shape of the noise, the truncation and the seed held,
two budgets of one $m$ are the same computation, draw by draw. The map over $(\varepsilon, \delta)$
therefore reads one curve $m \mapsto q(V)/q_0$ at $m(\varepsilon, \delta)$, by monotone cubic
interpolation in $\log m$. Nothing is extrapolated: a cell outside the curve stays empty.
"""

HOW_BYTES_ARE_COUNTED = r"""
Bytes are the length of the message a site really encodes, header and all; what the aggregator
works with is decoded from it. A *proxy* is $P_s = U_R |\Sigma_R|^{1/2}$: $D \times R$ numbers of
64, 32, 16 or 8 bits. A *rounded matrix* is the whole noisy $\hat A_s$, each entry rounded with a
dither $u$ that both sides know,

$$\hat a = t \left\lfloor \frac{a}{t} + u \right\rceil - t\,u, \qquad u \sim \mathcal U(-\tfrac12,
\tfrac12), \qquad t = k\,\sigma_s,$$

and the whole numbers entropy-coded. The rounding is unbiased and adds variance $t^2/12$: at
$t = \sigma_s$, a twelfth of the noise that privacy has put there. Both are made from the same
noisy second moment, so neither costs privacy.
"""
