from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wane.policies import Health

__version__: str

Distributions: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.uint64], NDArray[np.float64]]
Numbers: TypeAlias = NDArray[np.float64]

def main(arguments: Sequence[str]) -> int: ...
def provoke_panic() -> None: ...
def document(title: str, body: str) -> str: ...
def readings(name: str, bytes: bytes) -> list[dict[str, Any]]: ...
def judge(inputs: Sequence[tuple[str, bytes]]) -> dict[str, Any]: ...

class Columns:
    def arrays(self) -> list[tuple[str, NDArray[Any] | list[str]]]: ...
    def arrow_stream(self) -> object: ...

class Scenario:
    @property
    def name(self) -> str: ...

Job: TypeAlias = tuple[
    str, tuple[str, str] | None, str | None, PathLike[str], str | None, list[str], str | None, list[str]
]
Axis: TypeAlias = str | tuple[list[str], list[list[Any]]]

class Sweep:
    def name(self, point: int) -> str: ...
    def __len__(self) -> int: ...
    def workers(self) -> int: ...
    def begin(self, out: str | None, policies: dict[str, Any] | None, bar: bool) -> None: ...
    def waiting(self) -> list[int]: ...
    def run(self, attend: Callable[[int, int, float], object] | None) -> tuple[int, BaseException] | None: ...
    def job(self, point: int) -> Job: ...
    def take(self, point: int, result: RunResult) -> None: ...
    def fail(self, point: int, sentence: str) -> None: ...
    def step(self, point: int, preconditioning: bool, phase: int, drive_writes: float, done: float | None) -> None: ...
    def done(self) -> tuple[int, int, float]: ...
    def finish(self) -> None: ...
    def keys(self) -> list[str]: ...
    def columns(self) -> Columns: ...
    def in_words(self) -> str: ...
    def report(self) -> str: ...
    def result(self, point: int) -> RunResult | None: ...

def plan_sweep(
    path: str | None,
    table: dict[str, Any] | None,
    preset: str | None,
    set: list[tuple[str, Any]],
    scale: str | None,
    axes: list[Axis],
    seeds: int | None,
) -> tuple[Sweep, list[str]]: ...
def run_job(
    job: Job,
    policies: dict[str, Any] | None,
    attend: Callable[[bool, int, float, float | None], object] | None,
) -> RunResult: ...

class RunResult:
    def summary(self) -> dict[str, Any]: ...
    def timeline(self) -> Columns: ...
    def blocks(self) -> Columns: ...
    def windows(self) -> Columns: ...
    def distributions(self) -> list[Distributions]: ...
    def error_histogram(self) -> NDArray[np.uint64] | None: ...
    @staticmethod
    def of_files(files: list[tuple[str, bytes]]) -> RunResult: ...
    def scenario_toml(self) -> str: ...
    def in_words(self) -> str: ...
    def report(self) -> str: ...

Attend: TypeAlias = Callable[[bool, int, float, float | None], object] | None
Pages: TypeAlias = NDArray[np.uint32]

class Drive:
    def __new__(cls, scenario: Scenario, policies: dict[str, Any] | None) -> Drive: ...
    def fork(self) -> Drive: ...
    def restore(self, from_: Drive) -> None: ...
    def precondition(self, bar: bool, attend: Attend) -> str | None: ...
    def run(
        self,
        workload: str | None,
        table: dict[str, Any] | None,
        target: str,
        amount: float,
        bar: bool,
        attend: Attend,
    ) -> Literal["target", "end-of-life", "trace-end"]: ...
    def probe(
        self,
        workload: str | None,
        table: dict[str, Any] | None,
        set: list[tuple[str, Any]],
        requests: int,
        bar: bool,
        attend: Attend,
    ) -> RunResult: ...
    def write(self, pages: Pages) -> int: ...
    def trim(self, pages: Pages) -> None: ...
    def read(self, pages: Pages) -> Pages: ...
    def wait(self, days: float) -> None: ...
    def name(self) -> str: ...
    def scenario_toml(self) -> str: ...
    def pages(self) -> int: ...
    def page_bytes(self) -> int: ...
    def drive_writes(self) -> float: ...
    def day(self) -> float: ...
    def life_used(self) -> float | None: ...
    def end_of_life(self) -> str | None: ...
    def counters(self) -> list[tuple[str, int]]: ...
    def write_amplification(self) -> float | None: ...
    def blocks(self) -> Columns: ...
    def erase_counts(self) -> NDArray[np.uint32]: ...
    def ages(self) -> NDArray[np.float64]: ...
    def smart(self) -> dict[str, Any]: ...
    def check(self) -> str | None: ...

class GcView:
    """The closed blocks of a victim policy's domain. Each method raises ``PolicyError`` after the call that the view was given to."""

    def mode(self) -> str:
        """The drive's mode: ``"normal"``, or ``"degraded"`` when space has become short."""
    def free(self) -> int:
        """Free blocks of the domain."""
    def host_reads(self, block: int) -> int:
        """Pages that the host read of a block since its erase; 0 unless ``IndexSpec(reads=True)``."""
    def host_reads_max(self) -> int:
        """The most that any block has; a look at each."""
    def now(self) -> int:
        """Pages that the host wrote so far: the logical clock."""
    def units_per_block(self) -> int:
        """Pages in a block."""
    def has(self, block: int) -> bool:
        """Whether the block is one of the domain."""
    def is_closed(self, block: int) -> bool:
        """Whether the block is closed, so that it can be the victim."""
    def valid(self, block: int) -> int:
        """Valid pages of a block of the domain; ``IndexError`` of another one."""
    def erase_count(self, block: int) -> int:
        """Erases of a block of the domain."""
    def closed_at(self, block: int) -> int:
        """The clock when a closed block was last written; ``IndexError`` of one that is not closed."""
    def lowest(self) -> int | None:
        """The lowest number of valid pages that any block in a bucket has; ``None`` where there is none."""
    def next_bucket(self, valid: int) -> int | None:
        """The lowest number of valid pages from ``valid`` up that any block in a bucket has."""
    def bucket_head(self, valid: int) -> int | None:
        """The first block of the bucket with so many valid pages, in the order of ``IndexSpec``; ``None`` where it is empty."""
    def bucket_tail(self, valid: int) -> int | None:
        """The block that came last to the bucket; kept for the order ``"entry"`` only."""
    def closed_len(self) -> int:
        """Closed blocks."""
    def closed(self, position: int) -> int:
        """The closed block at a position from 0 of an arbitrary but repeatable order: for uniform draws."""
    def oldest(self) -> int | None:
        """The block that closed longest ago."""
    def invalid_in_window(self) -> int:
        """Invalid pages in the blocks of the window, of all closed blocks without one."""
    def oldest_waiting(self) -> int | None:
        """The oldest closed block outside the window."""
    def blocks(self) -> NDArray[np.uint32]:
        """The closed blocks, of shape ``(closed_len,)``, in the order of ``closed``; a copy."""
    def valid_counts(self) -> NDArray[np.uint32]:
        """Valid pages of each, of the same shape and order; a copy."""
    def erase_counts(self) -> NDArray[np.uint32]:
        """Erases of each, likewise."""
    def closing_times(self) -> NDArray[np.uint64]:
        """``closed_at`` of each, likewise."""

class FreeView:
    """The free blocks of an allocation policy's domain, one at least."""

    def mode(self) -> str:
        """The drive's mode."""
    def stream(self) -> int | None:
        """The stream that the block is for; ``None`` where wear leveling takes a spare block."""
    def now(self) -> int:
        """Pages that the host wrote so far."""
    def count(self) -> int:
        """Free blocks: one at least."""
    def first(self) -> int:
        """The first block of the declared order."""
    def last(self) -> int:
        """The last one."""
    def is_free(self, block: int) -> bool:
        """Whether the block is one of them."""
    def erase_count(self, block: int) -> int:
        """Erases of a block."""
    def failures(self, block: int) -> int:
        """Programs of a block that failed so far."""
    def blocks(self) -> NDArray[np.uint32]:
        """The free blocks in the declared order, of shape ``(count,)``; a copy. A new drive has very many."""

class WearView:
    """A wear leveler's domain."""

    def mode(self) -> str:
        """The drive's mode."""
    def erased(self) -> int | None:
        """The block that garbage collection just erased and freed; ``None`` before a host write."""
    def erase_count(self, block: int) -> int:
        """Erases of a block of the domain; ``IndexError`` of another one."""
    def valid(self, block: int) -> int:
        """Valid pages of a block of the domain."""
    def gc_erases(self) -> int:
        """Erases by garbage collection in this domain since it was new, preconditioning included."""
    def wear_leveling_erases(self) -> int:
        """Erases by wear leveling in this domain."""
    def host_writes(self) -> int:
        """Pages that the host wrote since the drive was new."""
    def free(self) -> int:
        """Free blocks of the domain."""
    def blocks(self) -> NDArray[np.uint32]:
        """The blocks of the domain, of shape ``(blocks,)``; a copy."""
    def erase_counts(self) -> NDArray[np.uint32]:
        """Erases of each, of the same shape; a copy."""
    def valid_counts(self) -> NDArray[np.uint32]:
        """Valid pages of each, likewise."""

class ScrubView:
    """The condition of a drive's blocks."""

    def blocks(self) -> int:
        """Blocks of the drive; they are numbered from 0."""
    def touched(self) -> NDArray[np.uint32]:
        """Blocks that were read for the host since the last ask, of shape ``(n,)``, some more than once; a copy."""
    def valid(self, block: int) -> int | None:
        """Valid pages of a block that could be relocated; ``None`` of one that could not."""
    def health(self, block: int) -> Health:
        """The condition of a block."""
    def now_days(self) -> float:
        """Days since the drive was new."""

def resolve(
    path: str | None,
    table: dict[str, Any] | None,
    preset: str | None,
    set: list[tuple[str, Any]],
    scale: str | None,
) -> Scenario: ...
def run(
    scenario: Scenario,
    out: str | None,
    bar: bool,
    attend: Attend,
    policies: dict[str, Any] | None,
) -> tuple[RunResult, str | None]: ...
def read(folder: str) -> list[RunResult]: ...
def half_full_occupancy(pages: int) -> Numbers: ...
def uniform_rates(pages: int) -> tuple[Numbers, Numbers]: ...
def occupancy_from_rates(up: Numbers, down: Numbers, start: Numbers | None) -> Numbers: ...
def occupancy_after(up: Numbers, down: Numbers, start: Numbers, requests_per_block: float) -> Numbers: ...
def total_variation(one: Numbers, other: Numbers) -> float: ...
def operating_point(shares: Numbers, weights: Numbers) -> tuple[float, float, float]: ...
def random_victims(shares: Numbers) -> tuple[float, float, float]: ...
def greedy(shares: Numbers) -> tuple[float, float, float]: ...
def d_choices(shares: Numbers, d: Numbers) -> tuple[Numbers, Numbers]: ...
def d_choices_weights(shares: Numbers, d: float) -> Numbers: ...
def optimal_wear_leveling(shares: Numbers, costs: Numbers) -> Numbers: ...
def optimal_weights(shares: Numbers, cost: float) -> Numbers: ...
def d_for_cost(shares: Numbers, costs: Numbers) -> Numbers: ...
def d_for_wear_leveling(shares: Numbers, wanted: Numbers) -> Numbers: ...
def write_amplification(policy: str, spare_factors: Numbers, pages: int, d: float | None) -> Numbers: ...
