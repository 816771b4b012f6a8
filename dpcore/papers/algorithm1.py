"""Algorithm 1 of Imtiaz & Sarwate (2018) in plain NumPy, with the symbols of the paper.

The engine computes the same result with more settings; a test compares both. Comments are the
numbers of the paper's steps. Rows of personal data need a source of randomness that cannot be
predicted: this code is for reading and for simulations.

>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(8, 3000)) * [[4], [3], [1], [1], [1], [1], [1], [1]]
>>> X -= X.mean(axis=1, keepdims=True)
>>> X /= np.linalg.norm(X, axis=0).max()
>>> V_K = dpdispca(np.split(X, 3, axis=1), epsilon=1.0, delta=0.01, R=4, K=2, rng=rng)
>>> bool(np.trace(V_K.T @ X @ X.T @ V_K) > 0.9 * np.linalg.eigvalsh(X @ X.T)[-2:].sum())
True
"""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def dpdispca(
    X: list[Matrix], epsilon: float, delta: float, R: int, K: int, rng: np.random.Generator
) -> Matrix:
    """Return V_K, an (epsilon, delta)-private basis (D, K) of the top-K PCA subspace.

    X: One matrix (D, N_s) per site, one column per person. Centred columns of length at most 1.
    """
    S = len(X)
    P = []
    for X_s in X:  # 1: at the local sites
        D, N_s = X_s.shape
        A_s = X_s @ X_s.T / N_s  # 2
        Delta = np.sqrt(2 * np.log(1.25 / delta)) / (N_s * epsilon)  # 3
        E = np.tril(rng.normal(0, Delta, (D, D)))
        E = E + np.tril(E, -1).T
        A_hat = A_s + E  # 4
        U, Sigma, _ = np.linalg.svd(A_hat)  # 5
        P_s = U[:, :R] * np.sqrt(Sigma[:R])  # 6
        P.append(P_s)  # 7, 8: send to the aggregator
    A_c = np.sum([P_s @ P_s.T for P_s in P], axis=0) / S  # 9: at the aggregator
    V, _, _ = np.linalg.svd(A_c)  # 10
    return V[:, :K]  # 11, 12
