"""Failures that come together: on one node, in one rack, within minutes or weeks.

An array's rebuild assumes that drives fail independently. To show how wrong that is, the shares of failures with another one near are compared with
those after the times of the same failures are shuffled, which keeps only their places and the number of failures over time.

Source: Alibaba's SSD failure tickets; Han et al., "An In-Depth Study of Correlated Failures in Production SSD-Based Data Centers", FAST 2021.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wane._errors import FleetError
from wane.fleet._plain import excerpt, library, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Windows in minutes: half an hour, a day, thirty days.
WINDOWS = (30, 24 * 60, 30 * 24 * 60)

#: Places, from the small to the large.
PLACES = ("node_id", "rack_id", "machine_room_id")

SHUFFLES = 20


@dataclass(frozen=True)
class Correlated:
    """How failures come together.

    Attributes:
        failures: Number of failures.
        places: For each kind of place: places with a failure, the share of failures at places with more than one, and the most at one place.
        near: A row for each place and window: the share of failures with another one at the same place within it, before or after, and the
        same with shuffled times: mean, least and most of 20 draws.
    """

    failures: int
    places: dict[str, dict[str, float]]
    near: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The values as plain data for JSON."""
        told: dict[str, Any] = plain(vars(self))
        return told

    def table(self) -> Any:
        """The shares as a ``pandas.DataFrame``."""
        return library("pandas").DataFrame(self.near)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the shares over the window, a line for each place; dashed lines are for independent times."""
        library("matplotlib")
        from matplotlib.figure import Figure  # noqa: PLC0415

        from wane.plot import COLORS, SIZE  # noqa: PLC0415

        axes = ax if ax is not None else Figure(figsize=SIZE, layout="constrained").add_subplot()
        for color, place in zip(COLORS, self.places, strict=False):
            rows = [row for row in self.near if row["place"] == place]
            hours = [row["minutes"] / 60 for row in rows]
            axes.plot(
                hours, [100 * row["share"] for row in rows], color=color, marker="o", label=place.removesuffix("_id")
            )
            axes.plot(hours, [100 * row["dealt_anew"] for row in rows], color=color, linestyle="--")
        axes.set(xscale="log", xlabel="window (hours)", ylabel="failures with another near (%)", ylim=(0, None))
        axes.legend()
        return axes


def correlated(tickets: Any, windows: tuple[int, ...] = WINDOWS, seed: int = 0) -> Correlated:
    """Measures how failures come together in space and time.

    Args:
        tickets: A row for each failure, as in the view ``tickets``: ``time`` and at least one of ``node_id``, ``rack_id``, ``machine_room_id``.
        windows: Windows in minutes, above 0.
        seed: Seed of the shuffled times.

    Raises:
        FleetError: There are fewer than two failures, or no time or no place.
    """
    if "time" not in tickets.columns:
        raise FleetError(f"tickets: have no column time, found {excerpt(', '.join(map(str, tickets.columns)))}")
    places = [name for name in PLACES if name in tickets.columns]
    if len(tickets) == 0:
        raise FleetError(
            "tickets: found 0, at least 2 are needed to be near each other; daily files tell failures, and not where"
        )
    if not places:
        raise FleetError(f"tickets: tell no place; needed is one of {', '.join(PLACES)}")
    if len(tickets) < 2:
        raise FleetError(f"tickets: found {len(tickets)}, at least 2 are needed to be near each other")
    for minutes in windows:
        if minutes <= 0:
            raise FleetError(f"windows: found {minutes} minutes, allowed is more than 0")
    seconds = tickets["time"].to_numpy().astype("datetime64[s]").astype(np.int64)
    random = np.random.default_rng(list(hashlib.sha256(f"{seed} correlated".encode()).digest()))
    dealt = [random.permutation(seconds) for _ in range(SHUFFLES)]
    told: dict[str, dict[str, float]] = {}
    near = []
    for place in places:
        where = library("pandas").factorize(tickets[place])[0]
        count = np.bincount(where)
        told[place] = {
            "places": int((count > 0).sum()),
            "share_with_others": float(count[count > 1].sum() / len(tickets)),
            "most": int(count.max()),
        }
        for minutes in windows:
            shares = [_share_near(where, times, 60 * minutes) for times in (seconds, *dealt)]
            near.append(
                {
                    "place": place,
                    "minutes": minutes,
                    "share": shares[0],
                    "dealt_anew": float(np.mean(shares[1:])),
                    "dealt_least": min(shares[1:]),
                    "dealt_most": max(shares[1:]),
                }
            )
    return Correlated(len(tickets), told, near)


def _share_near(where: NDArray[np.int64], seconds: NDArray[np.int64], window: int) -> float:
    """The share of failures with another one at the same place within the window, before or after."""
    order = np.lexsort((seconds, where))
    place, time = where[order], seconds[order]
    close = (np.diff(place) == 0) & (np.diff(time) <= window)
    near = np.zeros(len(where), dtype=bool)
    near[1:] |= close
    near[:-1] |= close
    return float(near.mean())
