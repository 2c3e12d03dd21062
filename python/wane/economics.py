"""Costs of QLC drives and hard disks for the same work (002, section 5.2.3), with every price and power an input; and costs of drives over years.

The defaults are the paper's values; ``inputs`` says where each comes from. Every input may be a number or an array of any shape; inputs are
broadcast, and figures have that shape. Values that are no price or power raise a ``FleetError``.
"""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from wane import _wane
from wane._arrays import Asked, shaped
from wane._errors import FleetError

__all__ = ["Benchmarked", "Cost", "Figures", "Input", "Side", "benchmarked", "compare", "inputs", "ownership"]

_ASKED = Asked(FleetError)


class Input(NamedTuple):
    """An input of ``compare``.

    Attributes:
        name: Its name.
        value: The paper's value.
        unit: Its unit.
        source: Where the value comes from.
    """

    name: str
    value: float
    unit: str
    source: str


class Figures(NamedTuple):
    """Figures of ``compare``, each of the shape of the inputs.

    Attributes:
        read_iops_gain: Reads a second of the SSD over those of a hard disk.
        power_ratio_min: Power of a hard disk over that of the SSD, at the least.
        power_ratio_max: Power of a hard disk over that of the SSD, at the most.
        ssd_read_iops_per_watt: Reads a second a watt of the SSD.
        hdd_read_iops_per_watt_min: Reads a second a watt of a hard disk that draws the most.
        hdd_read_iops_per_watt_max: Reads a second a watt of a hard disk that draws the least.
        iops_per_watt_ratio_min: Reads a second a watt of the SSD over those of a hard disk, at the least.
        iops_per_watt_ratio_max: Reads a second a watt of the SSD over those of a hard disk, at the most.
        ssd_interface_pb: Data that the SSD reads and writes until its writes are used up, in PB.
        interface_gain_min: What the SSD reads and writes over the most of a hard disk, less 1.
        interface_gain_max: What the SSD reads and writes over the least of a hard disk, less 1.
        raid5_mb_per_s: Random throughput of the RAID-5's data drives, in MB/s.
        raid6_mb_per_s: Random throughput of the RAID-6's data drives, in MB/s.
        raid5_read_iops: Random reads a second of the RAID-5's drives.
        raid6_read_iops: Random reads a second of the RAID-6's drives.
        raid5_drives_for_throughput: The fewest drives of a RAID-5 that reach the SSD's random throughput.
        raid6_drives_for_throughput: The fewest drives of a RAID-6 that reach it.
        drives_for_read_iops: The fewest hard disks that reach the SSD's reads a second.
        raid5_dollars_per_drive_gb: Price of the RAID-5 over the GB of one of its drives, in dollars.
        raid6_dollars_per_drive_gb: Price of the RAID-6 over the GB of one of its drives, in dollars.
        raid5_dollars_per_usable_gb: Price of the RAID-5 over its usable GB, in dollars.
        raid6_dollars_per_usable_gb: Price of the RAID-6 over its usable GB, in dollars.
        raid5_watts_min: The least that the RAID-5 draws, in watts.
        raid5_watts_max: The most that the RAID-5 draws, in watts.
        raid6_watts_min: The least that the RAID-6 draws, in watts.
        raid6_watts_max: The most that the RAID-6 draws, in watts.
        hdd_dollars_per_read_iops: Price of a large hard disk over its reads a second, in dollars.
        ssd_dollars_per_read_iops: Price of the SSD over its reads a second, in dollars.
        hdd_2u_tb: Large hard disks in 2U, in TB.
        fast_hdd_2u_tb: Fast hard disks in 2U, in TB.
        ssd_2u_tb: SSDs in 2U, in TB.
        density_gain: SSDs in 2U over large hard disks, less 1.
    """

    read_iops_gain: Any
    power_ratio_min: Any
    power_ratio_max: Any
    ssd_read_iops_per_watt: Any
    hdd_read_iops_per_watt_min: Any
    hdd_read_iops_per_watt_max: Any
    iops_per_watt_ratio_min: Any
    iops_per_watt_ratio_max: Any
    ssd_interface_pb: Any
    interface_gain_min: Any
    interface_gain_max: Any
    raid5_mb_per_s: Any
    raid6_mb_per_s: Any
    raid5_read_iops: Any
    raid6_read_iops: Any
    raid5_drives_for_throughput: Any
    raid6_drives_for_throughput: Any
    drives_for_read_iops: Any
    raid5_dollars_per_drive_gb: Any
    raid6_dollars_per_drive_gb: Any
    raid5_dollars_per_usable_gb: Any
    raid6_dollars_per_usable_gb: Any
    raid5_watts_min: Any
    raid5_watts_max: Any
    raid6_watts_min: Any
    raid6_watts_max: Any
    hdd_dollars_per_read_iops: Any
    ssd_dollars_per_read_iops: Any
    hdd_2u_tb: Any
    fast_hdd_2u_tb: Any
    ssd_2u_tb: Any
    density_gain: Any


class Cost(NamedTuple):
    """Costs of drives, in dollars, each of the shape of the inputs.

    Attributes:
        purchase: Cost of buying them.
        energy: Cost of powering and cooling them.
        total: Sum of both.
    """

    purchase: Any
    energy: Any
    total: Any


class Side(NamedTuple):
    """Results of fio in one direction.

    Attributes:
        mb_per_s: Sequential throughput with requests of 1 MB, in MB/s.
        iops: Requests of 4 KB a second.
        latency_us: Latency of requests of 4 KB, in microseconds.
    """

    mb_per_s: float
    iops: float
    latency_us: float


class Benchmarked(NamedTuple):
    """A drive of 002, table 5.2.

    Attributes:
        brand: ``"A"`` to ``"D"``.
        cells: The kind of its cells, as table 5.1 writes it.
        gigabytes: Its capacity in GB.
        write: Writes.
        read: Reads.
    """

    brand: str
    cells: str
    gigabytes: float
    write: Side
    read: Side


def inputs() -> list[Input]:
    """The inputs of ``compare`` with the paper's values, units and sources."""
    return [Input(*row) for row in _wane.economics_inputs()]


def benchmarked() -> list[Benchmarked]:
    """Table 5.2 of 002: four drives of four kinds of cells. IOPS times latency is about four requests in flight throughout."""
    return [Benchmarked(*row[:3], Side(*row[3]), Side(*row[4])) for row in _wane.economics_benchmarked()]


def compare(
    *,
    hdd_read_iops: ArrayLike = 189.0,
    hdd_random_mb_per_s: ArrayLike = 50.0,
    hdd_dollars_per_gb: ArrayLike = 0.02,
    hdd_watts_min: ArrayLike = 8.0,
    hdd_watts_max: ArrayLike = 11.0,
    hdd_interface_pb_min: ArrayLike = 2.5,
    hdd_interface_pb_max: ArrayLike = 3.5,
    hdd_tb: ArrayLike = 14.0,
    hdd_bays: ArrayLike = 12.0,
    fast_hdd_tb: ArrayLike = 2.4,
    fast_hdd_bays: ArrayLike = 12.0,
    ssd_read_iops: ArrayLike = 2441.0,
    ssd_random_mb_per_s: ArrayLike = 186.0,
    ssd_dollars_per_gb: ArrayLike = 0.12,
    ssd_watts: ArrayLike = 3.0,
    ssd_tbw: ArrayLike = 450.0,
    ssd_write_share: ArrayLike = 0.1,
    ssd_tb: ArrayLike = 7.6,
    ssd_bays: ArrayLike = 24.0,
    raid5_drives: ArrayLike = 5.0,
    raid6_drives: ArrayLike = 7.0,
) -> Figures:
    """Compares a QLC drive with hard disks, as in 002, section 5.2.3.

    An array of n disks, p of them for parity, reads at n - p times a disk's throughput and n times its IOPS.

    Args:
        hdd_read_iops: Random reads a second of a hard disk.
        hdd_random_mb_per_s: Random throughput of a hard disk, in MB/s.
        hdd_dollars_per_gb: Price of a hard disk, in dollars a GB.
        hdd_watts_min: The least that a hard disk draws, in watts.
        hdd_watts_max: The most that a hard disk draws, in watts.
        hdd_interface_pb_min: Least data that a hard disk reads and writes in its life, in PB.
        hdd_interface_pb_max: Most data that a hard disk reads and writes in its life, in PB.
        hdd_tb: Capacity of a large hard disk, in TB.
        hdd_bays: Large hard disks in 2U.
        fast_hdd_tb: Capacity of a fast hard disk, in TB.
        fast_hdd_bays: Fast hard disks in 2U.
        ssd_read_iops: Random reads a second of the SSD.
        ssd_random_mb_per_s: Random throughput of the SSD, in MB/s.
        ssd_dollars_per_gb: Price of the SSD, in dollars a GB.
        ssd_watts: Power of the SSD, in watts.
        ssd_tbw: Data that may be written to the SSD in its life, in TB.
        ssd_write_share: Share of writes in all bytes, above 0 and up to 1.
        ssd_tb: Capacity of the SSD, in TB.
        ssd_bays: SSDs in 2U.
        raid5_drives: Hard disks of a RAID-5.
        raid6_drives: Hard disks of a RAID-6.
    """
    arrays, shape = _ASKED.broadcast(
        {
            "hdd_read_iops": hdd_read_iops,
            "hdd_random_mb_per_s": hdd_random_mb_per_s,
            "hdd_dollars_per_gb": hdd_dollars_per_gb,
            "hdd_watts_min": hdd_watts_min,
            "hdd_watts_max": hdd_watts_max,
            "hdd_interface_pb_min": hdd_interface_pb_min,
            "hdd_interface_pb_max": hdd_interface_pb_max,
            "hdd_tb": hdd_tb,
            "hdd_bays": hdd_bays,
            "fast_hdd_tb": fast_hdd_tb,
            "fast_hdd_bays": fast_hdd_bays,
            "ssd_read_iops": ssd_read_iops,
            "ssd_random_mb_per_s": ssd_random_mb_per_s,
            "ssd_dollars_per_gb": ssd_dollars_per_gb,
            "ssd_watts": ssd_watts,
            "ssd_tbw": ssd_tbw,
            "ssd_write_share": ssd_write_share,
            "ssd_tb": ssd_tb,
            "ssd_bays": ssd_bays,
            "raid5_drives": raid5_drives,
            "raid6_drives": raid6_drives,
        }
    )
    return Figures(*(shaped(figure, shape) for figure in _wane.economics_compare(arrays)))


def ownership(
    *,
    drives: ArrayLike,
    dollars_per_gb: ArrayLike,
    gigabytes: ArrayLike,
    watts: ArrayLike,
    years: ArrayLike,
    dollars_per_kwh: ArrayLike,
    power_usage_effectiveness: ArrayLike,
) -> Cost:
    """Costs of drives over some years: their price, and energy with cooling. There are no defaults, because 002 has no numbers for energy.

    Args:
        drives: Number of drives, above 0.
        dollars_per_gb: Price of a gigabyte, in dollars.
        gigabytes: Capacity of a drive, in GB.
        watts: Power of a drive, in watts.
        years: Time that they run, in years of 365 days.
        dollars_per_kwh: Price of energy, in dollars a kilowatt-hour, from 0 on.
        power_usage_effectiveness: Ratio of the energy of the whole room to that of the equipment in it (PUE), 1 to 10.
    """
    named = {
        "drives": drives,
        "dollars_per_gb": dollars_per_gb,
        "gigabytes": gigabytes,
        "watts": watts,
        "years": years,
        "dollars_per_kwh": dollars_per_kwh,
        "power_usage_effectiveness": power_usage_effectiveness,
    }
    arrays, shape = _ASKED.broadcast(named)
    return Cost(*(shaped(figure, shape) for figure in _wane.economics_ownership(arrays)))
