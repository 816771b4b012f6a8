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
"""
