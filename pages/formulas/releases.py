"""What happens to a visitor's own table, and how a release is made."""

WHAT_STAYS_HERE = r"""
A file that is uploaded is read in memory and never written. Its columns, the rows that the
laboratory sees and all that is computed from them belong to this session: caches that visitors
share keep nothing of them, sweeps write none of their rows and leave this server for no other, and
the address calls the table *your-table*, whoever's it is. It is gone when you remove it, or within
minutes of closing the page. Whoever runs this server can of course read its memory.

A number $x$ of a column with the public limits $a < b$ and the middle $c$ becomes
$(\min(\max(x, a), b) - c) / \max(b - c, c - a)$; a level becomes a column of zeros and ones. Limits
decide how much one person can move a result, so that a limit read from the rows would itself tell
of somebody.
"""
HOW_A_RELEASE_IS_MADE = r"""
Rows become whole numbers on a public grid; their sum, their count and, around the noisy mean,
their second moment are added up exactly. To each is added noise that is exactly
$\operatorname{round}(N(0, \sigma^2))$ within a distance inside δ, from the operating system's
random numbers. Components, eigenvalues and trace follow from the noisy matrix alone. With $m$ rows
a person the sum moves by at most $2mR$ and the moment by $\sqrt 2\,m L^2$; together they are one
Gaussian mechanism of $\mu^2 = 4m^2R^2/\sigma_1^2 + m^2L^4/\sigma_2^2$, whose ε at your δ is exact.

The project's ledger is charged before the noise is drawn, and never paid back. Its cap is fixed
with the first release and holds for all of them together, however you choose the next after
looking at the last. No seed is shown, because there is none.
"""
