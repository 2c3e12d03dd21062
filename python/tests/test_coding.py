"""Coding on drives from Python agrees with 002, section 8.3, and with values by hand."""

from typing import Any

import numpy as np
import pytest

import wane
from wane import coding

#: Disks so fast that they take no time.
MEMORY: dict[str, Any] = {"drive_disk_mb_per_s": 1e9, "server_disk_mb_per_s": 1e9}


def test_inputs_are_those_of_the_native_part() -> None:
    assert [each.name for each in coding.inputs()] == list(coding.Inputs.__annotations__)
    assert all(each.unit and each.source for each in coding.inputs())
    by_name = {each.name: each.value for each in coding.inputs()}
    assert (by_name["drive_idle_watts"], by_name["encode_watts_min"]) == (16.0, 8.4)
    documented = coding.Inputs.__doc__ or ""
    assert all(f"{name}: " in documented for name in by_name)


def test_encoding_makes_products_for_each_parity() -> None:
    # 1 GB, five parities, 4000 / 3 MB of products a second.
    found = coding.on_drives(3, 8, 1000, **MEMORY)
    assert found.processor_seconds == pytest.approx(5 * 1000 / (4000 / 3))
    assert found.seconds == pytest.approx(found.processor_seconds, rel=1e-3)
    assert found.watt_hours_min == pytest.approx(24.4 * found.seconds / 3600)
    assert found.watt_hours_max == pytest.approx(24.7 * found.seconds / 3600)
    decoded = coding.on_drives(3, 8, 1000, lost=1, **MEMORY)
    assert found.processor_seconds / decoded.processor_seconds == pytest.approx(5)
    assert decoded.watt_hours_max == pytest.approx(25.2 * decoded.seconds / 3600)
    assert type(found.seconds) is float


def test_arguments_are_broadcast() -> None:
    found = coding.on_drives([[3], [6]], 8, 100, drives=[1, 2, 4], drive_idle_watts=16)
    assert found.seconds.shape == (2, 3)
    assert (np.diff(found.seconds, axis=1) < 0).all()
    assert found.seconds[1, 2] == coding.on_drives(6, 8, 100, drives=4).seconds
    assert coding.put([], 8, 100).busiest_link_mb.shape == (0,)
    assert coding.matched(np.zeros((0, 2)), 8, 100).by_server.seconds.shape == (0, 2)


def test_drives_match_a_server() -> None:
    even = coding.matched(6, 8, 1000)
    # The same disk decides, so that one drive is as fast.
    assert even.drives == 1
    slow = coding.matched(6, 8, 1000, drive_core_ratio=1 / 30)
    before = coding.on_drives(6, 8, 1000, drives=slow.drives - 1, drive_core_ratio=1 / 30)
    assert slow.drives > 1
    assert slow.by_drives.seconds <= slow.by_server.seconds < before.seconds
    server = coding.on_server(6, 8, 1000, server_watts=slow.break_even_watts_min)
    assert server.watt_hours_min == pytest.approx(slow.by_drives.watt_hours_min)


def test_a_put_spreads_what_a_server_sends_through_one_link() -> None:
    drives, server = coding.put(4, 6, 1000), coding.put_by_server(4, 6, 1000)
    assert drives.busiest_link_mb == pytest.approx(437.5)
    assert server.busiest_link_mb == pytest.approx(1500)
    assert drives.seconds < server.seconds


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"needed": 9}, "shares needed (K): found 9, allowed is 1 to 8"),
        ({"made": 2.5}, "shares made (M): found 2.5, allowed is a whole number"),
        ({"made": float("nan")}, "shares made (M): found NaN, allowed is a whole number"),
        ({"megabytes": 0}, "megabytes: found 0, allowed is a number above 0"),
        ({"megabytes": 1e9}, "megabytes: found 1000000000, allowed is 0 to 100000000"),
        ({"drives": 0}, "drives: found 0, allowed is 1 to 100000"),
        ({"lost": 6}, "lost shares: found 6, allowed is 0 to 3"),
        ({"lost": -1}, "lost shares: found -1, allowed are whole numbers from 0 on"),
        ({"drive_cores": 0}, "drive_cores: found 0, allowed is a number above 0"),
        ({"drive_cores": "two"}, "drive_cores: found 'two', allowed are numbers"),
        ({"drive_core": 1}, "inputs: found 'drive_core', allowed are core_mb_per_s, drive_core_ratio"),
        ({"drives": [1, 2], "made": [8, 9, 10]}, "arrays of shapes that do not fit each other: made (3,), drives (2,)"),
    ],
)
def test_what_no_code_or_machine_has_is_one_sentence(asked: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"needed": 3, "made": 8, "megabytes": 100, **asked}
    with pytest.raises(wane.FleetError) as caught:
        coding.on_drives(given.pop("needed"), given.pop("made"), given.pop("megabytes"), **given)
    assert str(caught.value).startswith(sentence), str(caught.value)
