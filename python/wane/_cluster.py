"""Work on a Dask cluster: the points of a sweep, and independent jobs.

Dask's scheduler gives the work of a lost worker to another one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from wane._errors import WaneError
from wane._extras import need
from wane._worker import run_point_on_cluster

if TYPE_CHECKING:
    from wane._sweep import Points


def present_client() -> Any:
    """Returns the Dask client that this process made last.

    Raises:
        MissingExtraError: Dask is not installed; the extra ``dask`` brings it.
        WaneError: There is no client.
    """
    distributed = need("distributed", "dask", 'wane.sweep with scheduler="dask"')
    try:
        return distributed.default_client()
    except ValueError:
        raise WaneError(
            'scheduler: found "dask" and no client; make one before, such as dask.distributed.Client("tcp://scheduler:8786")'
        ) from None


def is_client(scheduler: object) -> bool:
    """Whether it is a Dask client, without importing Dask."""
    kinds = type(scheduler).__mro__
    return any(kind.__name__ == "Client" and kind.__module__.startswith("distributed.") for kind in kinds)


def over(client: Any) -> Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]:
    """Returns a function that applies a function to jobs, in their order: on the client's cluster, or ``map`` without a client.

    Raises:
        WaneError: It is no client, or an asynchronous one.
    """
    if client is None:
        return map
    if not is_client(client):
        raise WaneError(f"client: found {type(client).__name__}, allowed is a client of Dask")
    if client.asynchronous:
        raise WaneError("client: found an asynchronous client of Dask, allowed is one that is not")

    def applied(function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterable[Any]:
        # Jobs are large, so they are sent beside the graph. Each is wrapped, since Dask would take tuples apart.
        futures = [client.submit(function, client.scatter([job], hash=False)[0], pure=False) for job in jobs]
        try:
            found: list[Any] = client.gather(futures)
        finally:
            client.cancel(futures)
        return found

    return applied


def run(client: Any, points: Points, policies: bytes | None) -> None:
    """Runs the waiting points of a sweep on the client's cluster.

    Raises:
        WaneError: The client is asynchronous.
    """
    distributed = need("distributed", "dask", "wane.sweep on a cluster")
    if client.asynchronous:
        raise WaneError("scheduler: found an asynchronous client of Dask, allowed is one that is not")
    name = uuid.uuid4().hex[:12]
    futures: dict[Any, int] = {}
    try:
        for point in points.waiting():
            key = f"wane-{name}-{point}"
            futures[client.submit(run_point_on_cluster, points.job(point), policies, key=key, pure=False)] = point
        for future in distributed.as_completed(list(futures)):
            point = futures.pop(future)
            _take(distributed, future, points, point)
            # The result is here now, so the cluster need not keep it.
            future.release()
            points.tell()
    finally:
        if futures:
            client.cancel(list(futures))


def _take(distributed: Any, future: Any, points: Points, point: int) -> None:
    try:
        result = future.result()
    except distributed.KilledWorker:
        points.fail(point, WaneError("the workers that ran it died; it may need more memory than a worker has"))
    except distributed.CancelledError:
        points.fail(point, WaneError("the cluster gave it up: its scheduler ended, or somebody canceled it"))
    except Exception as error:
        points.fail(point, error)
    else:
        points.take(point, result)
