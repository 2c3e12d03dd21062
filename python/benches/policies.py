"""Measures the cost of a policy in Python: a call, a run, a run beside a busy thread, a scan with NumPy. Build the package with optimization.

    pip install . && python python/benches/policies.py [ftlsim-256g]

Prints one JSON object a line, as the Rust benches do: medians of ROUNDS runs. With ftlsim-256g it takes ten minutes or more, and 1 GiB.
"""

import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import wane
from wane.policies import GcView, IndexSpec

ROUNDS = 5

#: Few pages in a block, so that the drive does little but ask for victims.
CALLS = {
    "drive": {"preset": "tiny", "endurance": "none", "pages-per-block": 16, "blocks-per-plane": 1164},
    "ftl": {"gc-reserve": 12},
    "workload": {"pattern": "uniform"},
    "until": {"drive-writes": 100},
}


class Greedy:
    """The built-in one."""

    def index(self) -> IndexSpec:
        """As the built-in one has it."""
        return IndexSpec(lowest_only=True)

    def choose(self, view: GcView) -> int | None:
        """The fewest valid pages."""
        valid = view.lowest()
        if valid is None or valid == view.units_per_block():
            return None
        return view.bucket_head(valid)


class Nothing:
    """Asks one question, to measure the least cost of a call."""

    def choose(self, view: GcView) -> int | None:
        """The block that closed first."""
        return view.oldest()


class Scan:
    """Greedy by a scan of all closed blocks."""

    def choose(self, view: GcView) -> int | None:
        """The fewest valid pages."""
        return int(view.blocks()[view.valid_counts().argmin()])


def seconds(
    run: Callable[[], wane.Result], clock: Callable[[], float] = time.process_time
) -> tuple[float, wane.Result]:
    """The median processor time of a run, and its last result. Processor time depends little on other processes on the machine."""
    found = []
    for _ in range(ROUNDS):
        began = clock()
        result = run()
        found.append(clock() - began)
    return statistics.median(found), result


def tell(name: str, **figures: float) -> None:
    """Prints a line."""
    print(json.dumps({"bench": name} | {key: round(value, 3) for key, value in figures.items()}), flush=True)


def beside_a_busy_thread(run: Callable[[], wane.Result]) -> tuple[float, float]:
    """The median wall-clock times, alone and beside a busy thread."""
    alone, _ = seconds(run, time.perf_counter)
    done = threading.Event()

    def spin() -> None:
        while not done.is_set():
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    beside, _ = seconds(run, time.perf_counter)
    done.set()
    thread.join()
    return alone, beside


def main() -> None:
    """Measures."""
    large = sys.argv[1:]
    fifo, result = seconds(lambda: wane.run(CALLS, set={"ftl.gc": "fifo"}))
    own, _ = seconds(lambda: wane.run(CALLS, policies={"ftl.gc": Nothing()}))
    calls = result.summary["gc"]["victims"]
    tell("call", nanoseconds=(own - fifo) / calls * 1e9, calls=calls)
    greedy, result = seconds(lambda: wane.run(CALLS))
    own, _ = seconds(lambda: wane.run(CALLS, policies={"ftl.gc": Greedy()}))
    tell("greedy-call", nanoseconds=(own - greedy) / result.summary["gc"]["victims"] * 1e9)
    alone, beside = beside_a_busy_thread(lambda: wane.run(CALLS, policies={"ftl.gc": Greedy()}))
    tell("busy-thread", ratio=beside / alone, alone=alone, beside=beside)
    scan, result = seconds(lambda: wane.run(CALLS, set={"until.drive-writes": 10}, policies={"ftl.gc": Scan()}))
    built_in, _ = seconds(lambda: wane.run(CALLS, set={"until.drive-writes": 10}))
    victims, blocks = result.summary["gc"]["victims"], result.blocks.rows
    tell("numpy-scan", microseconds=(scan - built_in) / victims * 1e6, blocks=blocks)
    for preset in ("ftlsim-8g", *large):
        drive = {"drive": {"preset": preset, "endurance": "none"}, "until": {"drive-writes": 1}}
        built_in, result = seconds(partial(wane.run, drive))
        own, _ = seconds(partial(wane.run, drive, policies={"ftl.gc": Greedy()}))
        tell(preset, ratio=own / built_in, built_in=built_in, own=own, victims=result.summary["gc"]["victims"])
        alone, beside = beside_a_busy_thread(partial(wane.run, drive, policies={"ftl.gc": Greedy()}))
        tell(f"{preset}-busy-thread", ratio=beside / alone, alone=alone, beside=beside)


if __name__ == "__main__":
    main()
