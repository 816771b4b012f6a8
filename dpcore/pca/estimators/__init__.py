"""Private PCA as scikit-learn estimators."""
