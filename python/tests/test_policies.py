"""Policies in Python: the built-in ones' numbers, every role, exceptions unchanged, views that end with their call."""

import os
import signal
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import without_run

import wane
from wane.policies import (
    Check,
    Exchange,
    FreeView,
    GcView,
    Health,
    IndexSpec,
    Refill,
    Relocate,
    RetireView,
    ScrubView,
    Setting,
    WearView,
)

HOT_COLD: dict[str, Any] = {
    "drive": {"preset": "tiny", "endurance": 100},
    "workload": {"pattern": "hot-cold", "r": 0.9, "h": 0.1},
    "until": {"drive-writes": 8},
}


class Greedy:
    def choose(self, view: GcView) -> int | None:
        valid = view.lowest()
        if valid is None or valid == view.units_per_block():
            return None
        return view.bucket_head(valid)


class CostBenefit:
    def index(self) -> IndexSpec:
        return IndexSpec(order="closing")

    def choose(self, view: GcView) -> int | None:
        empty, units, scores = view.bucket_head(0), view.units_per_block(), []
        valid = view.next_bucket(1)
        while empty is None and valid is not None and valid < units:
            block = view.bucket_head(valid)
            assert block is not None
            age = max(view.now() - view.closed_at(block), 1)
            scores.append(((units - valid) * age / (units + valid), -block))
            valid = view.next_bucket(valid + 1)
        return empty if empty is not None else -max(scores)[1] if scores else None


def alike(one: wane.Result, other: wane.Result) -> bool:
    """Whether two results differ only in the names of their policies."""
    plain = [without_run(result.summary) for result in (one, other)]
    for summary in plain:
        del summary["scenario"]
    blocks = all(np.array_equal(one.blocks[name], other.blocks[name]) for name in one.blocks)
    return plain[0] == plain[1] and blocks


@pytest.mark.parametrize("domain", ["drive", "die"])
@pytest.mark.parametrize(("name", "policy"), [("greedy", Greedy), ("cost-benefit", CostBenefit)])
def test_a_policy_in_ten_lines_is_the_built_in_one(name: str, policy: type[Any], domain: str) -> None:
    scenario = {**HOT_COLD, "ftl": {"domain": domain}}
    built_in = wane.run(scenario, set={"ftl.gc.policy": name})
    own = wane.run(scenario, policies={"ftl.gc": policy()})
    assert alike(own, built_in)
    assert not alike(own, wane.run(scenario, set={"ftl.gc.policy": "random"}))
    assert own.summary["scenario"]["overrides"] == {"gc": {"policy": policy.__name__}}
    assert own.summary["scenario"]["hash"] != built_in.summary["scenario"]["hash"]
    drive = wane.Drive(scenario, policies={"ftl.gc": policy()})
    drive.precondition()
    drive.run(drive_writes=8)
    assert np.array_equal(drive.erase_counts, built_in.blocks["erase_count"])


class FewestErases:
    name = "fewest-erases"

    def __init__(self) -> None:
        self.parameters = {"slack": 2}
        self.calls = 0
        self.settings: list[Setting] = []
        self.events: set[str] = set()

    def begin(self, setting: Setting) -> None:
        self.settings.append(setting)

    def heard(self, event: str, block: int, erase_count: int) -> None:
        self.events.add(event)

    def choose(self, view: GcView) -> int | None:
        self.calls += 1
        valid, worn, blocks = view.valid_counts(), view.erase_counts(), view.blocks()
        assert valid.shape == worn.shape == blocks.shape == view.closing_times().shape == (view.closed_len(),)
        able = valid < view.units_per_block() - 2
        if not able.any():
            return None
        return int(blocks[able][np.argmin(worn[able])])


def test_what_an_object_counts_is_there_afterwards() -> None:
    policy = FewestErases()
    result = wane.run(HOT_COLD, policies={"ftl.gc": policy})
    assert policy.calls >= result.summary["gc"]["victims"] > 0
    assert policy.events == {"opened", "closed", "erased"}
    (setting,) = policy.settings
    assert setting.blocks == result.blocks.rows
    assert setting.endurance == 100
    assert result.summary["scenario"]["overrides"] == {"gc": {"policy": "fewest-erases", "slack": 2}}
    again = FewestErases()
    wane.run(HOT_COLD, policies={"ftl.gc": again}, seed=7)
    assert again.settings[0].seed != setting.seed
    greedy = wane.run(HOT_COLD)
    assert result.summary["wear"]["erase_count"]["sd"] < greedy.summary["wear"]["erase_count"]["sd"]


def test_each_role_is_asked() -> None:
    class LeastWorn:
        def order(self) -> str:
            return "wear"

        def choose(self, view: FreeView) -> int:
            blocks = view.blocks()
            assert view.first() == blocks[0]
            assert view.is_free(view.last())
            assert blocks.shape == (view.count(),)
            assert view.is_free(view.first())
            assert (view.mode(), view.failures(view.first())) == ("normal", 0)
            return view.first()

    class AtSixty:
        def retires_at(self, rated: int | None) -> int:
            return 60

        def verdict(self, view: RetireView) -> bool:
            assert view.cause in ("garbage-collection", "wear-leveling")
            assert (view.endurance, view.mode) == (100, "normal")
            return view.erase_count >= 60

    class Swap:
        moves = 0

        def plan(self, view: WearView) -> Exchange | None:
            worn, valid = view.erase_counts(), view.valid_counts()
            assert worn.shape == valid.shape == view.blocks().shape
            hot, cold = int(worn.argmax()), int(np.where(valid > 0, worn, worn.max() + 1).argmin())
            if view.erased() is None or worn[hot] - worn[cold] < 20 or valid[hot] == 0:
                return None
            self.moves += 1
            return Exchange(hot, cold)

    scenario = {**HOT_COLD, "until": {"end-of-life": True}}
    swap = Swap()
    own = wane.run(scenario, policies={"ftl.allocation": LeastWorn(), "ftl.retire": AtSixty()})
    built_in = wane.run(
        scenario, set={"ftl.allocation": "least-worn", "ftl.retire": {"policy": "at-erases", "erases": 60}}
    )
    assert alike(own, built_in)
    assert own.summary["wear"]["blocks_retired"] > 0
    leveled = wane.run(HOT_COLD, policies={"ftl.wear-leveling": swap})
    assert swap.moves > 0
    assert leveled.summary["flash"]["blocks_erased"]["wear_leveling"] > 0


def test_a_refill_moves_cold_data() -> None:
    class Into:
        def plan(self, view: WearView) -> Refill | None:
            erased = view.erased()
            if erased is None or view.erase_count(erased) < 10:
                return None
            worn = np.where(view.valid_counts() > 0, view.erase_counts(), 10**6)
            return Refill(int(worn.argmin()), erased) if worn.min() + 8 < view.erase_count(erased) else None

    result = wane.run(HOT_COLD, policies={"ftl.wear-leveling": Into()})
    assert result.summary["flash"]["blocks_erased"]["wear_leveling"] > 0


SCRUBBED = {
    "drive": {"preset": "mlc-8g", "blocks-per-plane": 16, "chip": "tlc-72l-2018", "ecc": {"strength": 40}},
    "time": {"drive-writes-per-day": 0.01},
    "workload": {"pattern": "hot-cold", "read-share": "50 %"},
    "until": {"drive-writes": 1},
}


def test_a_scrubber_relocates_and_checks() -> None:
    class Old:
        def __init__(self) -> None:
            self.next_block, self.checks = 0, 0

        def next(self, view: ScrubView) -> Relocate | Check | None:
            assert view.touched().dtype == np.uint32
            block = self.next_block
            self.next_block = (block + 1) % view.blocks()
            if view.valid(block) is None:
                return None
            health = view.health(block)
            assert isinstance(health, Health)
            if health.age_days > 20:
                return Relocate(block)
            return Check(block) if view.now_days() > 1 and block % 64 == 0 else None

        def checked(self, block: int, rereads: int | None) -> None:
            self.checks += 1

    policy = Old()
    result = wane.run(SCRUBBED, policies={"ftl.scrub": policy})
    assert policy.checks == result.summary["flash"]["scrub_checks"] > 0
    assert result.summary["flash"]["blocks_erased"]["scrub"] > 0
    with pytest.raises(
        wane.ScenarioError, match=r"^policies: ftl.scrub: a drive that is aged step by step does not scrub"
    ):
        wane.Drive(SCRUBBED, policies={"ftl.scrub": Old()})


class Failing:
    def __init__(self, error: BaseException, after: int = 500) -> None:
        self.error, self.left = error, after

    def choose(self, view: GcView) -> int | None:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return Greedy().choose(view)


def test_an_exception_comes_back_unchanged_and_results_are_on_disk(tmp_path: Path) -> None:
    error = LookupError("mine")
    with pytest.raises(LookupError) as raised:
        wane.run(HOT_COLD, policies={"ftl.gc": Failing(error)}, out=tmp_path / "out")
    assert raised.value is error
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[-1] == "choose"
    assert names[0] == "test_an_exception_comes_back_unchanged_and_results_are_on_disk"
    (left,) = wane.read(tmp_path / "out")
    assert left.summary["end"]["reason"] == "interrupted"
    assert left.summary["gc"]["victims"] >= 499
    # The next run is not affected.
    assert alike(wane.run(HOT_COLD, policies={"ftl.gc": Greedy()}), wane.run(HOT_COLD))


def test_an_exception_leaves_a_drive_whole() -> None:
    drive = wane.Drive(HOT_COLD, policies={"ftl.gc": Failing(LookupError("mine"))})
    drive.precondition()
    with pytest.raises(LookupError, match="mine"):
        drive.run(drive_writes=8)
    drive.check()
    stopped = drive.drive_writes
    assert 0 < stopped < 8
    assert drive.run(drive_writes=1) == "target"
    assert drive.drive_writes == pytest.approx(stopped + 1)
    drive.check()
    failing = wane.Drive(HOT_COLD, policies={"ftl.gc": Failing(LookupError("mine"), 3)})
    failing.write(np.arange(failing.pages))
    with pytest.raises(LookupError, match="mine"):
        failing.write(np.random.default_rng(3).permutation(failing.pages))
    failing.check()


def test_what_begins_badly_is_raised() -> None:
    class Begins(Greedy):
        def begin(self, setting: Setting) -> None:
            raise LookupError("begin")

    class Hears(Greedy):
        def heard(self, event: str, block: int, erase_count: int) -> None:
            raise LookupError("heard")

    for policy in (Begins, Hears):
        with pytest.raises(LookupError):
            wane.run(HOT_COLD, policies={"ftl.gc": policy()})
    with pytest.raises(LookupError, match="begin"):
        wane.Drive(HOT_COLD, policies={"ftl.gc": Begins()})


def chosen(answer: object) -> type[Any]:
    class Answers:
        def choose(self, view: Any) -> Any:
            return answer

        plan = next = verdict = choose

    return Answers


@pytest.mark.parametrize(
    ("role", "answer", "sentence"),
    [
        (
            "gc",
            10**6,
            r"ftl\.gc: choose\(view\) answered block 1000000, which cannot be collected, allowed is a closed block of its view",
        ),
        ("gc", -1, r"ftl\.gc: choose\(view\) answered block -1, which cannot be collected"),
        (
            "gc",
            "x",
            r"ftl\.gc: choose\(view\) answered an object of type str, allowed is the number of a closed block, or None",
        ),
        (
            "allocation",
            10**6,
            r"ftl\.allocation: choose\(view\) answered block 1000000, which is not free, allowed is a free block",
        ),
        ("allocation", None, r"ftl\.allocation: choose\(view\) answered an object of type NoneType"),
        (
            "wear-leveling",
            (1, 2),
            r"ftl\.wear-leveling: plan\(view\) answered an object of type tuple, allowed is Refill or Exchange",
        ),
        ("wear-leveling", Refill(1, 10**6), r"answered block 1000000, which the domain does not have"),
        ("retire", "yes", r"ftl\.retire: verdict\(view\) answered an object of type str, allowed is True where"),
    ],
)
def test_a_wrong_answer_is_one_sentence(role: str, answer: object, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(wane.PolicyError, match=sentence):
        wane.run(HOT_COLD, policies={f"ftl.{role}": chosen(answer)()}, out=tmp_path / "out")
    (left,) = wane.read(tmp_path / "out")
    assert left.summary["end"]["reason"] == "interrupted"


class Fails:
    """Raises its answer, or gives it, from its 21st call on; before that it answers as the drive would."""

    def __init__(self, role: str, answer: Any) -> None:
        self.role, self.answer, self.calls = role, answer, 0

    def choose(self, view: Any) -> Any:
        self.calls += 1
        if self.calls > 20:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer
        return view.first() if self.role == "allocation" else view.bucket_head(view.lowest())

    def plan(self, view: Any) -> Any:
        return self.choose(view) if self.calls >= 20 else self.later(None)

    def verdict(self, view: Any) -> Any:
        return self.choose(view) if self.calls >= 20 else self.later(False)

    def later(self, answer: Any) -> Any:
        self.calls += 1
        return answer


@pytest.mark.parametrize("answer", [LookupError("no more"), "x"], ids=["raises", "wrong"])
@pytest.mark.parametrize("role", ["gc", "allocation", "wear-leveling", "retire"])
def test_a_policy_that_fails_ends_a_write_within_256_pages(role: str, answer: Any) -> None:
    policy = Fails(role, answer)
    drive = wane.Drive(preset="tiny", policies={f"ftl.{role}": policy})
    if role != "allocation":
        assert drive.write(range(drive.pages)) == drive.pages
    pages = np.random.default_rng(1).integers(0, drive.pages, 4 * drive.pages)
    failure = (LookupError, "no more") if isinstance(answer, Exception) else (wane.PolicyError, "an object of type str")
    with pytest.raises(failure[0], match=failure[1]):
        drive.write(pages)
    written, asked = drive.counters["host_pages_written"], policy.calls
    assert asked == 21
    assert written % 256 == 0
    drive.check()
    # Page by page, the same drive fails at the very page.
    other_policy = Fails(role, answer)
    other = wane.Drive(preset="tiny", policies={f"ftl.{role}": other_policy})
    if role != "allocation":
        other.write(range(other.pages))
    with pytest.raises(failure[0]):
        for page in pages:
            other.write(page)
    assert 0 <= written - other.counters["host_pages_written"] < 256
    # A stopped call does not stop further calls: the next one asks again, and raises again.
    with pytest.raises(failure[0]):
        drive.write(pages)
    assert policy.calls == 22
    policy.calls = -(10**9)
    before = drive.counters["host_pages_written"]
    assert drive.write(pages) == pages.size
    assert drive.counters["host_pages_written"] == before + pages.size
    drive.check()


def test_a_policy_that_fails_ends_preconditioning_within_256_pages() -> None:
    policy = Fails("gc", LookupError("no more"))
    scenario = {"drive": {"preset": "tiny"}, "precondition": {"random-drive-writes": 3}}
    drive = wane.Drive(scenario, policies={"ftl.gc": policy})
    with pytest.raises(LookupError, match="no more"):
        drive.precondition()
    assert policy.calls == 21
    # After a fill of all pages, some 2,100 random ones: the 21st victim of a drive with 10 % spare space.
    written = drive.smart()["host_bytes_written"] // drive.page_bytes - drive.pages
    assert 0 < written < 3000
    assert written % 256 == 0
    drive.check()


class RetiresAt:
    """A retirement policy that never retires and answers a number of erases."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def verdict(self, view: RetireView) -> bool:
        return False

    def retires_at(self, rated: int | None) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "found"),
    [(0, "0"), (-1, "-1"), (2**40, "1099511627776"), ("x", "an object of type str"), (1.5, "an object of type float")],
)
def test_erases_at_which_blocks_leave_are_counted_from_1(answer: Any, found: str) -> None:
    sentence = (
        rf"^ftl\.retire: retires_at\(rated\) answered {found}, allowed is a whole number from 1 to 4294967295, or None$"
    )
    with pytest.raises(wane.PolicyError, match=sentence):
        wane.Drive(HOT_COLD, policies={"ftl.retire": RetiresAt(answer)})
    with pytest.raises(wane.PolicyError, match=sentence):
        wane.run(HOT_COLD, policies={"ftl.retire": RetiresAt(answer)})
    policy = RetiresAt(10)
    drive = wane.Drive(HOT_COLD, policies={"ftl.retire": policy})
    drive.run(drive_writes=2)
    assert drive.life_used == pytest.approx(drive.erase_counts.mean() / 10)
    policy.answer = answer
    for tell in (lambda: drive.life_used, drive.smart, drive._repr_html_, lambda: drive.run(drive_writes=1)):
        with pytest.raises(wane.PolicyError, match=sentence):
            tell()
    policy.answer = None
    assert drive.life_used is None


def test_a_wrong_scrubber_is_one_sentence() -> None:
    with pytest.raises(
        wane.PolicyError, match=r"ftl\.scrub: next\(view\) answered block 1000000, which the drive does not have"
    ):
        wane.run(SCRUBBED, policies={"ftl.scrub": chosen(Relocate(10**6))()})
    with pytest.raises(wane.PolicyError, match=r"ftl\.scrub: next\(view\) answered an object of type int"):
        wane.run(SCRUBBED, policies={"ftl.scrub": chosen(3)()})


@pytest.mark.parametrize(
    ("policies", "sentence"),
    [
        (
            {"ftl.placement": Greedy()},
            r'^policies: found the role "ftl\.placement", allowed are ftl\.gc, ftl\.allocation',
        ),
        ({"ftl.gc": Greedy}, r"^policies: ftl\.gc: found the class Greedy, where an object of it is needed$"),
        ({"ftl.gc": 3}, r"^policies: ftl\.gc: found an object of type int without the method choose\(view\)$"),
        ({"ftl.scrub": Greedy()}, r"without the method next\(view\)$"),
    ],
)
def test_objects_that_are_no_policies_are_refused(policies: dict[str, Any], sentence: str) -> None:
    for use in (wane.run, wane.Drive):
        with pytest.raises(wane.ScenarioError, match=sentence):
            use(HOT_COLD, policies=policies)


def test_a_built_ins_name_is_refused() -> None:
    policy = Greedy()
    policy.name = "greedy"  # type: ignore[attr-defined]
    with pytest.raises(wane.ScenarioError, match=r'^ftl.gc: "greedy" is a built-in\'s name'):
        wane.run(HOT_COLD, policies={"ftl.gc": policy})


class Keeping(Greedy):
    def __init__(self) -> None:
        self.views: list[GcView] = []
        self.arrays: list[Any] = []

    def choose(self, view: GcView) -> int | None:
        if len(self.views) < 5:
            self.views.append(view)
            self.arrays.append((view.blocks(), view.blocks().copy(), view.valid_counts(), view.valid_counts().copy()))
            assert all(kept is not view for kept in self.views[:-1])
            with pytest.raises(wane.PolicyError, match=r"^the view is used after the call to which it was given"):
                (self.views[0] if len(self.views) > 1 else GcViewOfNobody.view).lowest()
        return super().choose(view)


class GcViewOfNobody(Greedy):
    view: GcView

    def choose(self, view: GcView) -> int | None:
        GcViewOfNobody.view = view
        return super().choose(view)


def test_a_view_ends_with_its_call_and_arrays_are_copies() -> None:
    wane.run(HOT_COLD, set={"until.drive-writes": 1}, policies={"ftl.gc": GcViewOfNobody()})
    policy = Keeping()
    wane.run(HOT_COLD, policies={"ftl.gc": policy})
    names = [name for name in dir(GcView) if not name.startswith("_")]
    assert len(names) > 20
    for view in policy.views:
        for name in names:
            arguments = (
                [0]
                if name
                in (
                    "host_reads",
                    "has",
                    "is_closed",
                    "valid",
                    "erase_count",
                    "closed_at",
                    "next_bucket",
                    "bucket_head",
                    "bucket_tail",
                    "closed",
                )
                else []
            )
            with pytest.raises(wane.PolicyError, match=r"^the view is used after the call to which it was given"):
                getattr(view, name)(*arguments)
    for blocks, blocks_then, valid, valid_then in policy.arrays:
        assert np.array_equal(blocks, blocks_then)
        assert np.array_equal(valid, valid_then)
        assert not blocks.flags.writeable


def test_numbers_of_blocks_that_are_none_are_index_errors() -> None:
    class Curious(Greedy):
        def choose(self, view: GcView) -> int | None:
            for ask, sentence in [
                (view.valid, "^the domain has no block 1000000$"),
                (view.erase_count, "^the domain has no block 1000000$"),
                (view.host_reads, "^the domain has no block 1000000$"),
                (view.closed_at, "^block 1000000 is not closed$"),
                (view.bucket_head, "^a bucket of 1000000 valid pages: a block has "),
                (view.bucket_tail, "^a bucket of 1000000 valid pages: a block has "),
                (view.closed, "^position 1000000: "),
            ]:
                with pytest.raises(IndexError, match=sentence):
                    ask(10**6)
            assert view.next_bucket(10**6) is None
            assert not view.has(10**6)
            assert not view.is_closed(10**6)
            return super().choose(view)

    wane.run(HOT_COLD, set={"until.drive-writes": 1}, policies={"ftl.gc": Curious()})


def test_copies_of_a_drive_have_copies_of_its_policies() -> None:
    policy = FewestErases()
    drive = wane.Drive(HOT_COLD, policies={"ftl.gc": policy})
    drive.precondition()
    drive.run(drive_writes=1)
    before = policy.calls
    copy = drive.fork()
    copy.run(drive_writes=1)
    assert policy.calls == before > 0
    drive.run(drive_writes=1)
    assert policy.calls > before
    assert np.array_equal(copy.erase_counts, drive.erase_counts)
    snapshot = drive.snapshot()
    drive.run(drive_writes=1)
    then = drive.erase_counts
    drive.restore(snapshot)
    drive.run(drive_writes=1)
    assert np.array_equal(drive.erase_counts, then)
    with pytest.raises(
        wane.WaneError, match=r"^a snapshot of a drive with policies in Python can be restored only by such a drive"
    ):
        wane.Drive(HOT_COLD).restore(snapshot)


def test_a_policy_may_run_something_itself_but_not_its_own_drive() -> None:
    inner: list[float] = []

    class Nested(Greedy):
        def choose(self, view: GcView) -> int | None:
            if not inner:
                tiny = wane.run(
                    {"drive": {"preset": "tiny"}, "until": {"drive-writes": 1}}, policies={"ftl.gc": Greedy()}
                )
                inner.append(tiny.summary["host"]["drive_writes"])
                with pytest.raises(wane.WaneError, match=r"^the drive is at work in another call"):
                    drive.write(0)
            return super().choose(view)

    drive = wane.Drive(HOT_COLD, policies={"ftl.gc": Nested()})
    drive.precondition()
    drive.run(drive_writes=1)
    assert inner == [1]


def test_ctrl_c_ends_a_run_with_a_policy(tmp_path: Path) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wane.run(
            HOT_COLD,
            set={"drive.endurance": "none", "until.drive-writes": 1e9},
            policies={"ftl.gc": Greedy()},
            out=tmp_path / "out",
        )
    timer.join()
    (left,) = wane.read(tmp_path / "out")
    assert left.summary["end"]["reason"] == "interrupted"


def test_other_threads_go_on_beside_a_policy() -> None:
    turns, done = 0, threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    wane.run(HOT_COLD, set={"drive.endurance": "none", "until.drive-writes": 100}, policies={"ftl.gc": Greedy()})
    done.set()
    thread.join()
    assert turns > 10_000
