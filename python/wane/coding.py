"""Time and energy of erasure coding on drives and on a server: 002, section 8.3, as a model in virtual time. Every rate and power is an input.

Any K of M shares make an object. Encoding makes M - K products of each byte of data, decoding one for each lost share of data. A machine reads
stripes from its disk, codes them, and writes shares. Powers are imported from the paper. The defaults are the paper's values, or assumptions if it
prints none; ``inputs`` says which are which. Every argument may be a number or an array of any shape; arguments are broadcast, and figures have
that shape. Values that no machine or code can have raise a ``FleetError``.
"""

from typing import Any, NamedTuple, TypedDict, Unpack

from numpy.typing import ArrayLike

from wane import _wane
from wane._arrays import Asked, shaped
from wane._errors import FleetError
from wane.economics import Input

__all__ = [
    "Inputs",
    "Matched",
    "Placed",
    "Taken",
    "inputs",
    "matched",
    "on_drives",
    "on_server",
    "put",
    "put_by_server",
]

_ASKED = Asked(FleetError)

#: Value of lost shares that means encoding.
_ENCODE = -1

#: Number of figures in the native part's answer.
_FIGURES = {"on_drives": 4, "on_server": 4, "put": 4, "put_by_server": 4, "matched": 11}


class Inputs(TypedDict, total=False):
    """Keywords of every function; ``inputs`` has their values, units and sources.

    Attributes:
        core_mb_per_s: Products that one core of the bench's machine makes, in MB of data a second.
        drive_core_ratio: Rate of a drive's core divided by that of the bench's core.
        drive_cores: Cores of a drive that code.
        drive_disk_mb_per_s: Rate of a drive's disk for reads and writes, in MB/s.
        drive_link_mb_per_s: Rate of a drive's link each way, in MB/s.
        drive_idle_watts: Power of an idle drive, in watts.
        encode_watts_min: Least additional power for encoding, in watts.
        encode_watts_max: Most additional power for encoding, in watts.
        decode_watts_min: Least additional power for decoding, in watts.
        decode_watts_max: Most additional power for decoding, in watts.
        server_core_ratio: Rate of a server's core divided by that of the bench's core.
        server_cores: Cores of the server that code.
        server_disk_mb_per_s: Rate of the server's disk for reads and writes, in MB/s.
        server_link_mb_per_s: Rate of the server's link each way, in MB/s.
        passive_disk_watts: Power of a disk that does not code, in watts.
        server_watts: Power of the server while it codes, in watts.
    """

    core_mb_per_s: ArrayLike
    drive_core_ratio: ArrayLike
    drive_cores: ArrayLike
    drive_disk_mb_per_s: ArrayLike
    drive_link_mb_per_s: ArrayLike
    drive_idle_watts: ArrayLike
    encode_watts_min: ArrayLike
    encode_watts_max: ArrayLike
    decode_watts_min: ArrayLike
    decode_watts_max: ArrayLike
    server_core_ratio: ArrayLike
    server_cores: ArrayLike
    server_disk_mb_per_s: ArrayLike
    server_link_mb_per_s: ArrayLike
    passive_disk_watts: ArrayLike
    server_watts: ArrayLike


class Taken(NamedTuple):
    """Time and energy of a task, each of the shape of the arguments.

    Attributes:
        seconds: Its time, in seconds.
        processor_seconds: Processor time of one machine, in seconds.
        watt_hours_min: Least energy of all machines, in watt-hours.
        watt_hours_max: Most energy of all machines, in watt-hours.
    """

    seconds: Any
    processor_seconds: Any
    watt_hours_min: Any
    watt_hours_max: Any


class Placed(NamedTuple):
    """Time and energy of a client's put, each of the shape of the arguments.

    Attributes:
        seconds: Its time, in seconds.
        watt_hours_min: Least energy of all machines, in watt-hours.
        watt_hours_max: Most energy of all machines, in watt-hours.
        busiest_link_mb: Data that the busiest link moves one way, in MB.
    """

    seconds: Any
    watt_hours_min: Any
    watt_hours_max: Any
    busiest_link_mb: Any


class Matched(NamedTuple):
    """Drives that do a server's work, each of the shape of the arguments.

    Attributes:
        drives: Fewest drives that are not slower than the server.
        by_drives: Time and energy of these drives, each of which codes its part of the data.
        by_server: Time and energy of the server.
        break_even_watts_min: Power of the server, in watts, above which the drives use less energy than it, at the drives' least power.
        break_even_watts_max: The same at the drives' most power.
    """

    drives: Any
    by_drives: Taken
    by_server: Taken
    break_even_watts_min: Any
    break_even_watts_max: Any


def inputs() -> list[Input]:
    """The inputs with their values, units and sources."""
    return [Input(*row) for row in _wane.coding_inputs()]


def on_drives(
    needed: ArrayLike,
    made: ArrayLike,
    megabytes: ArrayLike,
    *,
    drives: ArrayLike = 1,
    lost: ArrayLike | None = None,
    **given: Unpack[Inputs],
) -> Taken:
    """Time and energy for drives to code data, each its part, from disk to disk. Source: 002, section 8.3.

    Args:
        needed: Number of shares that make the object, K; from 1 on. Any K shares do.
        made: Number of shares that are made, M; K to 256.
        megabytes: Data in MB, above 0 and up to 10^8.
        drives: Number of drives, 1 to 100,000.
        lost: Number of lost shares of data to decode, at most K and M - K; without it, data are encoded.
        given: Keywords of ``Inputs``.

    Raises:
        FleetError: An argument is out of its range, or the arrays cannot be broadcast together.
    """
    return Taken(*_answer("on_drives", needed, made, megabytes, drives, lost, given))


def on_server(
    needed: ArrayLike,
    made: ArrayLike,
    megabytes: ArrayLike,
    *,
    lost: ArrayLike | None = None,
    **given: Unpack[Inputs],
) -> Taken:
    """Time and energy for the server to do the same. Arguments as for ``on_drives``."""
    return Taken(*_answer("on_server", needed, made, megabytes, 1, lost, given))


def put(needed: ArrayLike, made: ArrayLike, megabytes: ArrayLike, **given: Unpack[Inputs]) -> Placed:
    """A client's put on M drives that code it together, as in ``wane actor``: each drive codes its part of every stripe.

    Arguments as for ``on_drives``.
    """
    return Placed(*_answer("put", needed, made, megabytes, 1, None, given))


def put_by_server(needed: ArrayLike, made: ArrayLike, megabytes: ArrayLike, **given: Unpack[Inputs]) -> Placed:
    """The same put through a server that codes, and sends M shares to M disks that do not code. Arguments as for ``on_drives``."""
    return Placed(*_answer("put_by_server", needed, made, megabytes, 1, None, given))


def matched(
    needed: ArrayLike,
    made: ArrayLike,
    megabytes: ArrayLike,
    *,
    lost: ArrayLike | None = None,
    **given: Unpack[Inputs],
) -> Matched:
    """The rule of 002, section 8.3: takes the fewest drives that are not slower than the server, and compares their energy with the server's.

    Arguments as for ``on_drives``.

    Raises:
        FleetError: As for ``on_drives``, or no number of drives is as fast as the server.
    """
    drives, *rest = _answer("matched", needed, made, megabytes, 1, lost, given)
    return Matched(drives, Taken(*rest[:4]), Taken(*rest[4:8]), *rest[8:])


def _answer(
    what: str,
    needed: ArrayLike,
    made: ArrayLike,
    megabytes: ArrayLike,
    drives: ArrayLike,
    lost: ArrayLike | None,
    given: Inputs,
) -> list[Any]:
    values: dict[str, ArrayLike] = {each.name: each.value for each in inputs()}
    for name in given:
        if name not in values:
            raise FleetError(f"inputs: found {name!r}, allowed are {', '.join(values)}")
    values |= dict(given)  # type: ignore[arg-type]
    asked = {"needed": needed, "made": made, "megabytes": megabytes, "drives": drives}
    if lost is not None and bool((_ASKED.numbers("lost", lost) < 0).any()):
        raise FleetError(f"lost shares: found {lost!r:.60}, allowed are whole numbers from 0 on")
    arrays, shape = _ASKED.broadcast(values | asked | {"lost": _ENCODE if lost is None else lost})
    if not arrays[0].size:
        # The arguments are empty arrays, of which the native part gives no figures.
        return [arrays[0].reshape(shape)] * _FIGURES[what]
    return [shaped(figure, shape) for figure in _wane.coding(what, arrays)]
