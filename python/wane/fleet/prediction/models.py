"""The models that are tested: two that learn, and two that do not.

``chance`` draws lots each day. ``rule`` is the sum of reallocated and pending sectors, above zero or not, which any model must beat. ``logistic`` is
a regression on signed logarithms, with missing values set to the median of training. ``boosting`` is trees by gradient boosting, which handle
missing values themselves. Medians and scales come only from training rows, since a model is given no others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wane.fleet._plain import library

#: The names, those that do not learn first.
MODELS = ("chance", "rule", "logistic", "boosting")
LEARNING = ("logistic", "boosting")

#: Attributes that the rule adds up, as far as the fleet has them.
RULE = ("smart_5_raw", "smart_197_raw", "reallocated_sectors", "pending_sectors")

#: Training rows below which one thread is enough.
ROWS_OF_A_THREAD = 50_000

Numbers = NDArray[np.float64]


def rule_score(frame: Any) -> Numbers:
    """Sum of reallocated and pending sectors; missing values count as 0."""
    total = np.zeros(len(frame))
    for name in RULE:
        if name in frame.columns:
            total += frame[name].fillna(0).to_numpy(dtype=np.float64)
    return total


class Fit(NamedTuple):
    """A model to fit and the rows to judge: all that another process needs.

    Attributes:
        name: One of ``LEARNING``.
        train: Features of the training rows, shape (rows, features).
        labels: 1 if the drive fails within the horizon, shape (rows,).
        others: Features of the rows to judge.
        seed: Seed of all draws.
    """

    name: str
    train: Numbers
    labels: Numbers
    others: Numbers
    seed: int


def fit_and_score(job: Fit) -> Numbers:
    """Trains a model on some rows, and returns the chance of a failure within the horizon for others.

    Returns:
        Probabilities, shape (other rows,); all 0 where training has no failure.
    """
    name, train, labels, others, seed = job
    if not labels.any() or not len(others):
        return np.zeros(len(others))
    # With little to do, threads that wait for each other cost more than they gain.
    threads = 1 if len(train) < ROWS_OF_A_THREAD else None
    with library("threadpoolctl").threadpool_limits(threads):
        found: Numbers = _model(name, seed).fit(train, labels).predict_proba(others)[:, 1]
    return found


def _model(name: str, seed: int) -> Any:
    ensemble, linear = library("sklearn.ensemble"), library("sklearn.linear_model")
    if name == "boosting":
        # Shallow trees and large leaves: there are only a few hundred drive-days before failures to learn from.
        return ensemble.HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=8,
            min_samples_leaf=200,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        )
    steps = [
        library("sklearn.preprocessing").FunctionTransformer(_signed_logarithm),
        library("sklearn.impute").SimpleImputer(strategy="median", keep_empty_features=True),
        library("sklearn.preprocessing").StandardScaler(),
        linear.LogisticRegression(C=0.1, max_iter=2000, random_state=seed),
    ]
    return library("sklearn.pipeline").make_pipeline(*steps)


def _signed_logarithm(values: Numbers) -> Numbers:
    found: Numbers = np.sign(values) * np.log1p(np.abs(values))
    return found
