"""The method for Backblaze's drives: other attributes, another scale, and the types that leave time (002, section 7.5, figures 7.12 to 7.14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from wane.fleet.analyses._errors import AnalysisError
from wane.fleet.analyses._libraries import Frame
from wane.fleet.analyses._names import short
from wane.fleet.analyses._result import Analysis
from wane.fleet.analyses.groups import Deciles, DiskOptions, FailureGroups, deciles_in, study_of, takes_disk_options
from wane.fleet.analyses.onset import COPY_HOURS, Starts, starts_in
from wane.fleet.analyses.published import BACKBLAZE_RMSE
from wane.fleet.analyses.signature import Signatures, signatures_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The scale of section 7.5.
SCALE = (0.0, 100.0)


@dataclass(frozen=True, eq=False)
class Variant(Analysis):
    """Results of the method on a fleet with Backblaze's attributes.

    Attributes:
        failures: Types of failure; the study has six.
        deciles: Their deciles (figure 7.12).
        starts: Their thresholds, and the abrupt types.
        signatures: Their signatures; ``None`` if no type has enough drives.
        why: Why there are no signatures; empty otherwise.
    """

    failures: FailureGroups
    deciles: Deciles
    starts: Starts
    signatures: Signatures | None
    why: str

    def table(self) -> Frame:
        """A row for each type of failure: name, attribute, drives, percent, threshold, abrupt, r2, rmse, rmse_published."""
        rows = self.failures.groups.drop(columns="group")
        rows = rows.merge(self.starts.rows[["name", "threshold", "abrupt"]], on="name", how="left")
        fitted = self.signatures.signatures if self.signatures is not None else {}
        nothing = float("nan")
        rows["r2"] = [fitted[name].r2 if name in fitted else nothing for name in rows["name"]]
        rows["rmse"] = [fitted[name].rmse if name in fitted else nothing for name in rows["name"]]
        rows["rmse_published"] = [BACKBLAZE_RMSE.get(short(name), nothing) for name in rows["attribute"]]
        return rows

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Figure 7.12: the deciles of one type, by default the first."""
        return self.deciles.plot(ax, name=name)


@takes_disk_options
def backblaze_variant(
    frame: Frame,
    *,
    copy_hours: float = COPY_HOURS,
    test_share: float = 0.3,
    **options: Unpack[DiskOptions],
) -> Variant:
    """Runs the method on health values from 0 to 100. Source: 002, section 7.5, figures 7.12 to 7.14; its drives are of one model, ST4000DM000 (3.1).

    The study's errors there (0.1839 for RUE, 0.1624 for HFW) come without the unit of the degradation and without the regression. Here they are those
    of ``signatures``, with degradation from 0 to 2, so that the two need not agree even on the same drives.

    Args:
        frame: The records.
        copy_hours: The time that a copy of the drive takes; types whose median drive has less from start to failure are abrupt.
        test_share: The share of each type's drives that is held out from its signature.
        options: Options of ``DiskOptions``; ``bounds`` are 0 and 100 by default.

    Raises:
        AnalysisError: As for ``starts``.
    """
    user = "backblaze_variant"
    chosen: DiskOptions = {"bounds": SCALE, **options}
    study = study_of(frame, user, **chosen)
    starts = starts_in(study, "hyperplane", copy_hours, user)
    try:
        signatures, why = signatures_in(study, None, test_share, user), ""
    except AnalysisError as error:
        signatures, why = None, error.sentence
    return Variant(study.failures, deciles_in(study), starts, signatures, why)
