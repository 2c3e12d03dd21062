"""Degradation signatures: a drive's distance from its failure, as a polynomial of health values (002, section 7.3.2, figures 7.6 and 7.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._health import Scale, held_out, refitted
from wane.fleet.analyses._libraries import Flags, Frame, Numbers, library, one_thread, quietly, state
from wane.fleet.analyses._names import listed, short
from wane.fleet.analyses._records import Records
from wane.fleet.analyses._result import HERE, Analysis, drawing
from wane.fleet.analyses.groups import DiskOptions, Study, study_of, takes_disk_options
from wane.fleet.analyses.published import SIGNATURES
from wane.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Degradation of the record farthest from its drive's failure record; that of the failure record is 0.
FARTHEST = 2.0

#: The highest power (002, equations 1 and 2).
POWER_MAX = 3

#: Share of drives in which an attribute must correlate with the signature's own to be part of it, and the absolute coefficient for that (002,
#: sections 7.2.1 and 7.3.2).
COUPLED_SHARE, COUPLED_ABOVE = 0.5, 0.75

#: Least failed drives for a signature.
DRIVES_MIN = 4

#: Most records that are drawn in the picture.
DRAWN_MAX = 5_000


@dataclass(frozen=True, eq=False)
class Signature(Analysis):
    """The degradation of drives that fail by one type: about 2 far from the failure, 0 at the failure.

    Attributes:
        name: The type of failure.
        attribute: The column whose powers it contains.
        others: Further columns that it contains, with the share of drives in which they change with ``attribute``.
        scale: The scale that turns attributes into health values, fitted without the held-out drives.
        coefficients: The constant, the attribute's powers from the first on, and the others, each with its standard error: term, coefficient, error.
        Errors allow for a drive's records repeating each other; with few drives they are too small.
        distance_unit: The distance of health values that is 1 degradation; NaN if the degradation was given.
        drives: Number of drives to which it was fitted.
        drives_held_out: Number of drives by which it was judged.
        r2: The share of the held-out drives' variance that it explains; it can be negative.
        rmse: Its root mean square error on the held-out drives, in units of degradation.
        rmse_fitted: Its root mean square error on the drives to which it was fitted.
        rmse_tree: The error of a regression tree with the same inputs on the held-out drives.
        gain_over_tree: Percentage by which its error is below the tree's; negative if it is above.
        published: The study's R² and root mean square error for this type on its own drives; ``None`` if it has none.
        held_out: The serials of the held-out drives.
    """

    name: str
    attribute: str
    others: dict[str, float]
    scale: Scale
    coefficients: Frame
    distance_unit: float
    drives: int
    drives_held_out: int
    r2: float
    rmse: float
    rmse_fitted: float
    rmse_tree: float
    gain_over_tree: float
    published: tuple[float, float] | None
    held_out: tuple[str, ...]
    points: Numbers = field(metadata=HERE, repr=False)

    def degradation(self, frame: Frame) -> Numbers:
        """The degradation of records, of shape (records,); NaN if an attribute is missing."""
        found: Numbers = self._terms(self.scale(frame)) @ self.coefficients["coefficient"].to_numpy()
        return found

    def _terms(self, health: Numbers) -> Numbers:
        powers = sum(1 for term in self.coefficients["term"] if term.startswith(f"{self.attribute}^"))
        return terms_of(health, self.scale.attributes, self.attribute, powers, list(self.others))

    def table(self) -> Frame:
        """A row for each term: term, coefficient, error."""
        return self.coefficients

    def plot(self, ax: Axes | None = None) -> Axes:
        """Figures 7.6 and 7.7: records of the held-out drives, and the signature's values for them."""
        with drawing(ax) as axes:
            health, degradation = self.points[:, :-1], self.points[:, -1]
            at = self.scale.attributes.index(self.attribute)
            axes.plot(
                health[:, at], degradation, ".", markersize=2, color=COLORS[4], rasterized=True, label="held-out drives"
            )
            told = self._terms(health) @ self.coefficients["coefficient"].to_numpy()
            order = np.argsort(health[:, at], kind="stable")
            # With several attributes, the signature is no line over one of them.
            look: dict[str, Any] = (
                {"marker": ".", "markersize": 2, "linestyle": "none"} if self.others else {"linestyle": "-"}
            )
            axes.plot(health[order, at], told[order], color=COLORS[1], label="signature", **look)
            ends = f"{self.scale.low:g} to {self.scale.high:g}"
            axes.set(xlabel=f"{short(self.attribute)} (health, {ends})", ylabel="degradation (0 is failure)")
            axes.legend()
            return axes


@dataclass(frozen=True, eq=False)
class Signatures(Analysis):
    """A signature for each type of failure that has a sign.

    Attributes:
        signatures: The signatures by the type's name.
        left_out: Types without a signature, and why.
    """

    signatures: dict[str, Signature]
    left_out: dict[str, str]

    def table(self) -> Frame:
        """A row for each signature: name, formula, drives, drives_held_out, r2, rmse, rmse_tree, gain_over_tree, r2_published, rmse_published."""
        rows = [
            {
                "name": each.name,
                "formula": formula(each),
                "drives": each.drives,
                "drives_held_out": each.drives_held_out,
                "r2": each.r2,
                "rmse": each.rmse,
                "rmse_tree": each.rmse_tree,
                "gain_over_tree": each.gain_over_tree,
                "r2_published": each.published[0] if each.published else float("nan"),
                "rmse_published": each.published[1] if each.published else float("nan"),
            }
            for each in self.signatures.values()
        ]
        return library("pandas").DataFrame(rows)

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """One signature, by default the first."""
        chosen = next(iter(self.signatures)) if name is None else name
        if chosen not in self.signatures:
            raise AnalysisError(f"signatures: there is none of {chosen!r}; there are: {listed(list(self.signatures))}")
        return self.signatures[chosen].plot(ax)


def formula(signature: Signature) -> str:
    """A signature as an equation, with the study's abbreviations."""
    text = ""
    for row in signature.coefficients.itertuples(index=False):
        column, _, power = row.term.partition("^")
        times = "" if column == "1" else f" {short(column)}" + {"2": "²", "3": "³"}.get(power, "")
        sign = " - " if row.coefficient < 0 else " + "
        text += (sign if text else sign.strip(" +")) + f"{abs(row.coefficient):.2f}{times}"
    return text


@takes_disk_options
def signatures(
    frame: Frame,
    *,
    degradation: str | None = None,
    test_share: float = 0.3,
    **options: Unpack[DiskOptions],
) -> Signatures:
    """Fits a degradation signature to each type of failure. Source: 002, section 7.3.2, equations 1 and 2.

    For each failed drive, the degradation of a record is its Euclidean distance from the drive's failure record, over all health values, scaled to 0
    to 2. The signature is a polynomial of third degree of the type's attribute, with the attributes that change with it in half of the drives or
    more. It is fitted by least squares to 70 % of the drives and judged by the rest, as is a regression tree. The scale is fitted without the
    held-out drives.

    Args:
        frame: The records.
        degradation: A column with the degradation, if it is known, as in a simulated fleet; by default the distance.
        test_share: The share of each type's drives that is held out.
        options: Options of ``DiskOptions``.

    Raises:
        AnalysisError: As for ``working_groups``, or no type of failure has a sign and 4 drives.
    """
    # The degradation is to be explained, so it is no attribute.
    if degradation is not None and degradation not in getattr(frame, "columns", ()):
        raise AnalysisError(f"signatures: the records have no column {degradation!r}")
    return signatures_in(study_of(frame, "signatures", **options), degradation, test_share, "signatures")


def signatures_in(study: Study, degradation: str | None, test_share: float, user: str) -> Signatures:
    """The signatures of a study."""
    found, left_out = {}, {}
    for row in study.failures.groups.itertuples(index=False):
        if not row.attribute:
            left_out[row.name] = "its drives read as working ones do"
            continue
        members = study.drives(row.name, of="failed")
        if int(members.sum()) < DRIVES_MIN:
            left_out[row.name] = f"{int(members.sum())} drives failed by it; a signature needs {DRIVES_MIN}"
            continue
        out = np.zeros(members.size, dtype=bool)
        out[np.flatnonzero(members)[held_out(int(members.sum()), test_share, study.seed, user)]] = True
        found[row.name] = fit(study, row.name, row.attribute, members & ~out, out, degradation, user)
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise AnalysisError(f"{user}: no type of failure has a signature ({reasons})")
    return Signatures(found, left_out)


def fit(
    study: Study, name: str, attribute: str, fitted: Flags, out: Flags, degradation: str | None, user: str
) -> Signature:
    """Fits one signature to some drives and judges it by others."""
    scale = refitted(study.scale, study.records.of(~out), user)
    train, test = study.records.of(fitted), study.records.of(out)
    health, drive, distance, known = _degradations(train, scale, degradation)
    unit = distance.max() / FARTHEST if degradation is None else float("nan")
    if degradation is None and distance.max() == 0:
        raise AnalysisError(f"{user}: no record of the drives that failed by {name} differs from their failure records")
    y = known if degradation is not None else distance / unit
    others = _coupled(health, drive, scale.attributes, attribute)
    own = health[:, scale.attributes.index(attribute)]
    powers = min(POWER_MAX, np.unique(own).size - 1)
    x = terms_of(health, scale.attributes, attribute, powers, list(others))
    statistics = library("statsmodels.api")
    with quietly():
        model = statistics.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": drive})
    test_health, _, test_distance, test_known = _degradations(test, scale, degradation)
    test_y = test_known if degradation is not None else test_distance / unit
    test_x = terms_of(test_health, scale.attributes, attribute, powers, list(others))
    rmse = _rmse(test_y - test_x @ model.params)
    inputs = [scale.attributes.index(each) for each in (attribute, *others)]
    rmse_tree = _rmse(test_y - _tree(health[:, inputs], y, drive, study.seed).predict(test_health[:, inputs]))
    spread = float(((test_y - test_y.mean()) ** 2).mean())
    terms = ["1", *(f"{attribute}^{power}" for power in range(1, powers + 1)), *others]
    picked = np.unique(np.linspace(0, len(test_y) - 1, min(len(test_y), DRAWN_MAX)).astype(int))
    on_paper = SIGNATURES.get(short(attribute))
    return Signature(
        name=name,
        attribute=attribute,
        others=others,
        scale=scale,
        coefficients=library("pandas").DataFrame({"term": terms, "coefficient": model.params, "error": model.bse}),
        distance_unit=float(unit),
        drives=int(fitted.sum()),
        drives_held_out=int(out.sum()),
        r2=1 - rmse**2 / spread if spread > 0 else float("nan"),
        rmse=rmse,
        rmse_fitted=_rmse(y - x @ model.params),
        rmse_tree=rmse_tree,
        gain_over_tree=100 * (1 - rmse / rmse_tree) if rmse_tree > 0 else float("nan"),
        published=(on_paper.r2, on_paper.rmse) if on_paper else None,
        held_out=tuple(str(serial) for serial in test.serials),
        points=np.c_[test_health, test_y][picked],
    )


def terms_of(health: Numbers, names: Sequence[str], attribute: str, powers: int, others: Sequence[str]) -> Numbers:
    """The columns of the regression: 1, the attribute's powers, and the others."""
    own = health[:, list(names).index(attribute)]
    columns = [np.ones_like(own), *(own**power for power in range(1, powers + 1))]
    return np.stack([*columns, *(health[:, list(names).index(name)] for name in others)], axis=1)


def _degradations(records: Records, scale: Scale, column: str | None) -> tuple[Numbers, Any, Numbers, Numbers]:
    """For the complete records: health values, drives, distances from the drive's failure record, and the known degradation (empty without one)."""
    health = scale(records.frame)
    ends = np.repeat(health[records.last], records.last - records.first + 1, axis=0)
    distance = np.linalg.norm(health - ends, axis=1)
    known = records.frame[column].to_numpy(dtype=float) if column is not None else np.zeros(len(health))
    told = ~np.isnan(distance) & ~np.isnan(known)
    return health[told], records.drive[told], distance[told], known[told]


def _coupled(health: Numbers, drive: Any, names: Sequence[str], attribute: str) -> dict[str, float]:
    """Attributes that change with ``attribute`` in half of the drives or more, with the share (002, section 7.3.2: RSC with RUE in 84.6 %)."""
    frame = library("pandas").DataFrame(health, columns=list(names))
    counts = dict.fromkeys([name for name in names if name != attribute], 0)
    drives = 0
    with quietly():
        for _, own in frame.groupby(drive, sort=True):
            drives += 1
            together = own.corrwith(own[attribute], method="spearman")
            for name in counts:
                counts[name] += bool(abs(together[name]) > COUPLED_ABOVE)
    return {name: count / drives for name, count in counts.items() if count >= COUPLED_SHARE * drives}


def _tree(inputs: Numbers, y: Numbers, drive: Any, seed: int) -> Any:
    """The baseline of 002's earlier work: a regression tree whose depth is chosen by cross-validation over drives."""
    selection = library("sklearn.model_selection")
    tree = library("sklearn.tree").DecisionTreeRegressor(random_state=state(seed, "regression tree"))
    folds = selection.GroupKFold(min(5, np.unique(drive).size))
    grid = {"max_depth": [1, 2, 3, 4, 6, 8], "min_samples_leaf": [5]}
    search = selection.GridSearchCV(tree, grid, scoring="neg_root_mean_squared_error", cv=folds, error_score=np.nan)
    with one_thread(), quietly():
        return search.fit(inputs, y, groups=drive)


def _rmse(errors: Numbers) -> float:
    return float(np.sqrt((errors**2).mean()))
