"""How plans and frontiers are computed, in formulas."""

HOW_A_PLAN_IS_FOUND = r"""
Every protocol is tried with every preparation that is private from the first row, calibrated
exactly. The captured energy $q(V)/q_0$ grows with ε, with the people of a site and with R, and
falls with the number of sites, so the cheapest value at which any way reaches the target is found
by bisection over the steps of the controls. Every run of a search meets the same draws of the
noise. A way whose first two draws are more than a tenth below the target is not drawn further at
that value, and one that fails at a value is not tried at a dearer wish.

Of the ways that reach the target on average at the cheapest value, the one that trusts least is
recommended; of several, the one that sends fewest bytes. The runner-up is the cheapest of the
others, by the same order.

What was chosen because it did well did so partly by luck. So the answer is drawn $n$ times more,
and its chances come from these fresh draws alone. With mean $m$ and standard deviation $s$, and a
flat prior on the mean and on $\log\sigma$ of normal draws, the chance that the mean of all draws
is above the target $t$ is $T_{n-1}((m - t)\sqrt n / s)$, Student's distribution function. If $k$
of the $n$ reach it, the share $p$ of releases that do is, at 95 % confidence, at least the $p$ at
which $k$ or more of $n$ have a chance of 5 % (Clopper & Pearson 1934).

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

HOW_WAYS_ARE_RANKED = r"""
A *way* is a protocol, a preparation that is private from the first row (*sphere*, *bounded*, or not
centred at all), and what is publicly known (nothing; of pictures also their lowest 20 % of
frequencies). Every way is run at the ε and δ of the controls, calibrated by the exact profile of
the Gaussian mechanism, the private mean included; protocols of pure ε promise the same ε with
$\delta = 0$. SuLQ and MOD-SuLQ add the noise of their paper, which is more than that. A line's
numbers are the rows of its own runs, the same as in the Playground at the same seed.

The ranking is by the mean of $q(V)/q_0$ over $n$ draws. Two ways are compared draw by draw: with
$d_i$ the differences, $\bar d$ their mean and $s$ their standard deviation, and a flat prior on
the mean and on $\log\sigma$ of normal differences, the chance that the first is better on average
is $T_{n-1}(\bar d \sqrt n / s)$, Student's distribution function. It speaks of these two alone: the
best of sixty was also a little lucky.
"""
