"""How a study runs, in words and formulas."""

HOW_A_STUDY_RUNS = r"""
Each hospital's **guard** holds its rows, its randomness and its ledger. It answers two requests,
which are numbers and names and never code: for the noisy sum of its rows, and, around the centre
that all sums give, for its noisy second moment of rows at length 1. All is in whole numbers,
$x_s + \operatorname{round}(g_s)$ with $g_s \sim \mathcal N(0, \sigma^2)$ drawn from the operating
system's entropy.

Under a **secure sum** each pair of guards agrees on a key (X25519) and makes a stream of numbers
from it that one adds and the other takes off, modulo $2^{64}$: a message alone is uniform, the
sum is exact, and carries the noise of all who answer. With $h$ noises that an adversary lacks the
sum is a Gaussian mechanism of $\mu = \Delta / (\sqrt h\, \sigma)$, and σ is calibrated for the
smallest $h$ that the plan allows. **CAPE**'s masks are Gaussian numbers from such
streams, of variance $\sigma^2 S / h$ a pair. With **full matrices**, **DPdisPCA** and in the
**chain** every hospital's own noise protects it alone.

A hospital that falls silent makes a masked sum useless, so that a new attempt begins without it,
with new noise and a new charge.
"""
