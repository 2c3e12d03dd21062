"""Costs from Python agree with 002, section 5.2.3, and with values by hand."""

import inspect
from typing import Any

import numpy as np
import pytest

import wane
from wane import _wane, economics

OWNED: dict[str, Any] = {
    "drives": 5,
    "dollars_per_gb": 0.02,
    "gigabytes": 14_000,
    "watts": [8, 11],
    "years": 5,
    "dollars_per_kwh": 0.1,
    "power_usage_effectiveness": 1.5,
}


def test_the_papers_figures_come_out() -> None:
    found = economics.compare()
    assert found.ssd_interface_pb == pytest.approx(4.5)
    assert found.interface_gain_min == pytest.approx(1 / 3.5)
    assert found.iops_per_watt_ratio_min < 38 < found.iops_per_watt_ratio_max
    assert (found.raid5_drives_for_throughput, found.raid6_drives_for_throughput) == (5, 6)
    assert type(found.density_gain) is float


def test_names_and_defaults_are_those_of_the_native_part() -> None:
    known = {name: parameter.default for name, parameter in inspect.signature(economics.compare).parameters.items()}
    assert known == {each.name: each.value for each in economics.inputs()}
    assert list(economics.Figures._fields) == _wane.economics_figures()
    assert all(each.unit and each.source for each in economics.inputs())


def test_inputs_are_broadcast() -> None:
    found = economics.compare(ssd_watts=[[3], [6]], hdd_watts_min=[8, 9, 10])
    assert found.iops_per_watt_ratio_max.shape == (2, 3)
    assert found.iops_per_watt_ratio_max[1, 2] == pytest.approx(2441 / 6 / (189 / 11))
    assert found.iops_per_watt_ratio_min[1, 2] == pytest.approx(2441 / 6 / (189 / 10))
    assert economics.compare(ssd_watts=np.array([])).density_gain.shape == (0,)


def test_ownership_adds_energy_to_the_price() -> None:
    cost = economics.ownership(**OWNED)
    assert cost.purchase == pytest.approx([1400, 1400])
    assert cost.energy == pytest.approx([262.8, 361.35])
    assert cost.total == pytest.approx([1662.8, 1761.35])


def test_table_5_2_has_four_requests_in_flight() -> None:
    drives = economics.benchmarked()
    assert [drive.cells for drive in drives] == ["eMLC", "TLC", "QLC", "eQLC"]
    in_flight = [side.iops * side.latency_us / 1e6 for drive in drives for side in (drive.write, drive.read)]
    assert in_flight == pytest.approx([4] * 8, abs=0.1)
    kept = next(each for each in economics.inputs() if each.name == "ssd_read_iops")
    assert kept.value == drives[2].read.iops
    assert "brand C" in kept.source


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: economics.compare(ssd_watts=0), "ssd_watts: found 0, allowed is a number above 0"),
        (lambda: economics.compare(hdd_tb="big"), "hdd_tb: found 'big', allowed are numbers"),
        (lambda: economics.compare(raid5_drives=[5, 2]), "raid5_drives: found 2, allowed is a whole number from 3"),
        (lambda: economics.compare(ssd_tb=[1, 2], hdd_tb=[1, 2, 3]), "hdd_tb (3,), ssd_tb (2,)"),
        (lambda: economics.ownership(**{**OWNED, "years": -1}), "years: found -1, allowed is a number above 0"),
    ],
)
def test_bad_inputs_are_refused_in_a_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(wane.FleetError) as raised:
        call()
    assert sentence in str(raised.value)
