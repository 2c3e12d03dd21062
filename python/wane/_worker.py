"""Runs a point of a sweep in another process and returns its result. Cluster workers and this machine's processes import it."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from wane import _wane
from wane._errors import ScenarioError, WaneError

#: Function that native code calls during a run.
Attend: TypeAlias = "Callable[[bool, int, float, float | None], object] | None"

#: A point, and the number of its set of policies.
Job: TypeAlias = "tuple[_wane.Job, int]"

#: Seconds between two looks at whether a task of Dask was canceled.
LOOKED_EVERY = 1.0


def run_point(job: Job, policies: bytes | None, attend: Attend = None) -> _wane.RunResult:
    """Runs a point.

    Args:
        job: The point, from ``_wane.Sweep.job``, and the number of its set of policies.
        policies: The result of ``packed``.
        attend: As for a run.

    Raises:
        WaneError: It gives no result. What a policy raises is raised unchanged, with its traceback as a note.
    """
    point, place = job
    own = None if policies is None else unpacked(policies)[place]
    try:
        return _wane.run_job(point, own, attend)
    except WaneError:
        raise
    except Exception as error:
        # A traceback cannot be sent to another process.
        error.add_note("in the process that ran it:\n" + "".join(traceback.format_exception(error)).rstrip())
        raise


def run_point_on_cluster(job: Job, policies: bytes | None) -> _wane.RunResult:
    """Runs a point as a Dask task, and ends it soon after the task is canceled, which Dask leaves to the task.

    Raises:
        WaneError: As ``run_point``.
    """
    worker = import_module("distributed").get_worker()
    key, looked = worker.get_current_task(), time.monotonic()

    def look(*_: object) -> None:
        nonlocal looked
        now = time.monotonic()
        if now - looked < LOOKED_EVERY:
            return
        looked = now
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise WaneError("the task was canceled")

    return run_point(job, policies, look)


def packed(policies: list[dict[str, Any]]) -> bytes | None:
    """Packs the sets of policies that points have, by role, into bytes for other processes; ``None`` without policies.

    If cloudpickle is installed (Dask brings it), objects are packed by value where it can do so.

    Raises:
        ScenarioError: An object cannot be pickled.
    """
    if not any(policies):
        return None
    dumps = _dumps()
    for role, policy in (one for of_point in policies for one in of_point.items()):
        try:
            dumps(policy)
        except Exception as error:
            found = f"an object of type {type(policy).__name__} that cannot be pickled ({error})"
            sentence = f"policies: {role}: found {found}; policies of a sweep go to other processes"
            raise ScenarioError(sentence, role, "policies") from None
    return dumps(policies)


def unpacked(policies: bytes) -> list[dict[str, Any]]:
    """Unpacks the bytes of ``packed``.

    Raises:
        ScenarioError: Their classes are not known here.
    """
    try:
        found: list[dict[str, Any]] = pickle.loads(policies)
    except Exception as error:
        sentence = (
            f"policies: the process that runs a point cannot unpickle them ({error}); define their classes in a module that it can import, "
            "or install cloudpickle, which the extra dask brings"
        )
        raise ScenarioError(sentence, None, "policies") from None
    return found


def _dumps() -> Callable[[Any], bytes]:
    try:
        cloudpickle = import_module("cloudpickle")
    except ModuleNotFoundError:
        return pickle.dumps
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps
