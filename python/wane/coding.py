"""Time and energy of erasure coding on drives and on a server: 002, section 8.3, as a model in virtual time, with every rate and power an input.

Any K of M shares make an object; encoding makes M - K products of each byte of data, decoding one for each share of data that was lost. A machine
reads stripes from its disk, codes them, and writes shares. Powers are imported from the paper. The defaults are the paper's values, and assumed ones
where it prints none; ``inputs`` says which are which. Every argument may be a number or an array of any shape; they are broadcast, and figures have
their shape. What no machine or code has is a ``FleetError``.
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

#: What stands for lost shares where data are encoded.
_ENCODE = -1

#: How many figures the native part answers with.
_FIGURES = {"on_drives": 4, "on_server": 4, "put": 4, "put_by_server": 4, "matched": 11}


class Inputs(TypedDict, total=False):
    """What every function takes by keyword; ``inputs`` has values, units and sources.

    Attributes:
        core_mb_per_s: Products that one core of the bench's machine makes, in MB of data a second.
        drive_core_ratio: A drive's core over that of the bench.
        drive_cores: Cores of a drive that code.
        drive_disk_mb_per_s: What a drive's disk reads or writes, in MB/s.
        drive_link_mb_per_s: What a drive's link moves each way, in MB/s.
        drive_idle_watts: What an idle drive draws, in watts.
        encode_watts_min: What encoding adds at the least, in watts.
        encode_watts_max: What encoding adds at the most, in watts.
        decode_watts_min: What decoding adds at the least, in watts.
        decode_watts_max: What decoding adds at the most, in watts.
        server_core_ratio: A server's core over that of the bench.
        server_cores: Cores of the server that code.
        server_disk_mb_per_s: What the server's disk reads or writes, in MB/s.
        server_link_mb_per_s: What the server's link moves each way, in MB/s.
        passive_disk_watts: What a disk draws that does not code, in watts.
        server_watts: What the server draws while it codes, in watts.
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
    """What a task takes, each of the shape of the arguments.

    Attributes:
        seconds: Its time, in seconds.
        processor_seconds: How long the processor of one machine worked, in seconds.
        watt_hours_min: Energy of all machines, in watt-hours, at the least.
        watt_hours_max: The same at the most.
    """

    seconds: Any
    processor_seconds: Any
    watt_hours_min: Any
    watt_hours_max: Any


class Placed(NamedTuple):
    """What a client's put takes, each of the shape of the arguments.

    Attributes:
        seconds: Its time, in seconds.
        watt_hours_min: Energy of all machines, in watt-hours, at the least.
        watt_hours_max: The same at the most.
        busiest_link_mb: What the busiest link moves one way, in MB.
    """

    seconds: Any
    watt_hours_min: Any
    watt_hours_max: Any
    busiest_link_mb: Any


class Matched(NamedTuple):
    """How many drives do a server's work, each of the shape of the arguments.

    Attributes:
        drives: The fewest drives that are not slower than the server.
        by_drives: What these take, each of its part of the data.
        by_server: What the server takes.
        break_even_watts_min: What a server may draw, in watts, before the drives use less energy than it, at the drives' least.
        break_even_watts_max: The same at their most.
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
    """What drives take to code data, each its part, from its disk to its disk. Source: 002, section 8.3.

    Args:
        needed: Shares of which any so many make the object, K; from 1 on.
        made: Shares that are made, M; K to 256.
        megabytes: Data in MB, above 0 and up to 10^8.
        drives: How many drives, 1 to 100,000.
        lost: Shares of data that were lost and are decoded, at most K and M - K; without, data are encoded.
        given: Those of ``Inputs``.

    Raises:
        FleetError: An argument is out of its range, or the arrays do not fit each other.
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
    """What the server takes for the same. Arguments as of ``on_drives``."""
    return Taken(*_answer("on_server", needed, made, megabytes, 1, lost, given))


def put(needed: ArrayLike, made: ArrayLike, megabytes: ArrayLike, **given: Unpack[Inputs]) -> Placed:
    """A client's put on as many drives as shares, which code it together, as ``wane actor`` does: each drive its part of every stripe.

    Arguments as of ``on_drives``.
    """
    return Placed(*_answer("put", needed, made, megabytes, 1, None, given))


def put_by_server(needed: ArrayLike, made: ArrayLike, megabytes: ArrayLike, **given: Unpack[Inputs]) -> Placed:
    """The same put through a server that codes, and sends M shares to as many disks that do not. Arguments as of ``on_drives``."""
    return Placed(*_answer("put_by_server", needed, made, megabytes, 1, None, given))


def matched(
    needed: ArrayLike,
    made: ArrayLike,
    megabytes: ArrayLike,
    *,
    lost: ArrayLike | None = None,
    **given: Unpack[Inputs],
) -> Matched:
    """The rule of 002, section 8.3: as many drives as it takes not to be slower than the server, and then who uses less energy.

    Arguments as of ``on_drives``.

    Raises:
        FleetError: As of ``on_drives``; or no number of drives is as fast.
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
        # Nothing was asked, and the native part tells figures by their answers.
        return [arrays[0].reshape(shape)] * _FIGURES[what]
    return [shaped(figure, shape) for figure in _wane.coding(what, arrays)]
