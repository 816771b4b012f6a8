"""Private PCA as scikit-learn estimators.

Every estimator has the keyword parameters `epsilon`, `delta` if its guarantee has one,
`row_norm_bound`, `on_long_rows` and `random_state`; published variants with a weaker guarantee have
parameters of their own. A fitted estimator has `guarantee_` and `noise_scale_`: an array with the
scale of each site's noise, of shape (1,) if noise is added once.

`DistributedPCA` is for rows spread over sites; the other estimators are for rows in one place. Rows
are centred by a private mean, which `transform` subtracts, or taken as centred around a public
point.
"""

from dpcore.pca.estimators.analyze_gauss import AnalyzeGaussPCA
from dpcore.pca.estimators.distributed import DistributedPCA
from dpcore.pca.estimators.exponential import ExponentialPCA
from dpcore.pca.estimators.fitted_steps import warn_of_fitted_steps
from dpcore.pca.estimators.private_estimator import PrivateEstimator, RandomState, root_seed
from dpcore.pca.estimators.rows import bounded_rows, check_long_rows, check_preparation
from dpcore.pca.estimators.sulq import ModSulqPCA, SulqPCA

__all__ = [
    "AnalyzeGaussPCA",
    "DistributedPCA",
    "ExponentialPCA",
    "ModSulqPCA",
    "PrivateEstimator",
    "RandomState",
    "SulqPCA",
    "bounded_rows",
    "check_long_rows",
    "check_preparation",
    "root_seed",
    "warn_of_fitted_steps",
]
