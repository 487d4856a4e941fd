"""Faults of the chart repository, while XApps want a version that is in no cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http import HTTPStatus
from typing import Final

from tests.chaos.charts import greeting_chart
from tests.chaos.fleet import NAMESPACES, REPOSITORY_CHART, RETRY_AT, Kind, ManagedXApp
from tests.chaos.scene import Fault, Scene, WithoutEffect
from tests.chaos.snapshot import Snapshot, read_snapshot
from tests.support.workload import CONFIGMAP

FAULT_SECONDS: Final = (2.0, 10.0)
REFUSAL_SECONDS: Final = 30.0
ANOTHER_GREETING: Final = "of another archive"
MISMATCH: Final = "but the repository lists sha256:"
SERVER_ERRORS: Final = (
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)


def add_version(scene: Scene) -> str:
    """Publish another version of the stored chart, and return the path of its archive."""
    version = scene.fleet.next_version()
    publish(scene, version)
    return f"/{REPOSITORY_CHART}-{version}.tgz"


def publish(scene: Scene, version: str) -> None:
    scene.system.charts.add(REPOSITORY_CHART, version, greeting_chart(name=REPOSITORY_CHART, version=version))


def _while_wanted(
    fault: Callable[[Scene, str], AbstractContextManager[None]],
    *,
    permanent: bool = False,
    look: Callable[[Scene, list[ManagedXApp]], None] = lambda *_: None,
) -> Callable[[Scene], None]:
    """Let XApps want a new version while a fault of the repository lasts, and `look` at them before it ends.

    After a `permanent` one, a person asks to try again, as the message of the XApp says.
    """

    def inject(scene: Scene) -> None:
        path = add_version(scene)
        chosen = scene.victims(3, kinds=frozenset({Kind.STORED}))
        try:
            with fault(scene, path):
                for xapp in chosen:
                    xapp.set_greeting(scene.greeting(xapp))
                    xapp.spec["version"] = scene.fleet.versions[-1]
                scene.fleet.apply(chosen)
                scene.system.pause(scene.rng.uniform(*FAULT_SECONDS))
                look(scene, chosen)
        finally:
            for xapp in chosen if permanent else []:
                scene.request(xapp, RETRY_AT)

    return inject


def _status(*statuses: HTTPStatus) -> Callable[[Scene, str], AbstractContextManager[None]]:
    return lambda scene, path: scene.system.charts.failing(scene.rng.choice(statuses), path, "/index.yaml")


def _hold(scene: Scene, path: str) -> AbstractContextManager[None]:
    return scene.system.charts.holding(path)


def _truncate(scene: Scene, path: str) -> AbstractContextManager[None]:
    return scene.system.charts.truncating(path)


def _trickle(scene: Scene, path: str) -> AbstractContextManager[None]:
    return scene.system.charts.trickling(path)


def _serve_another_archive(scene: Scene, path: str) -> AbstractContextManager[None]:
    """Serve a chart of the same name and version that renders another greeting."""
    config_map = CONFIGMAP.replace("{{ .Values.greeting | quote }}", ANOTHER_GREETING)
    version = scene.fleet.versions[-1]
    other = greeting_chart(name=REPOSITORY_CHART, version=version, templates__configmap=config_map)
    return scene.system.charts.replacing(path, other)


def _must_be_refused(scene: Scene, chosen: list[ManagedXApp]) -> None:
    """Wait until each XApp refuses the archive; one that installs it is lost, although the retry mends it later."""
    installed: list[str] = []
    waiting: list[str] = []

    def look() -> bool:
        snapshot = read_snapshot(scene.system.cluster, NAMESPACES)
        installed[:] = [each.name for each in chosen if _greeting(snapshot, each) == ANOTHER_GREETING]
        waiting[:] = [each.name for each in chosen if not _has_refused(snapshot, each)]
        return bool(installed) or not waiting

    scene.system.wait(look, REFUSAL_SECONDS)
    scene.lost += [f"{name} has installed an archive of another digest" for name in installed]
    if waiting and not installed:
        raise WithoutEffect(f"not refused by {', '.join(waiting)}")


def _greeting(snapshot: Snapshot, xapp: ManagedXApp) -> str | None:
    return snapshot.greetings.get((xapp.namespace, xapp.config_map))


def _has_refused(snapshot: Snapshot, xapp: ManagedXApp) -> bool:
    conditions = snapshot.xapps.get(xapp.key, {}).get("status", {}).get("conditions", [])
    return any(each["type"] == "Stalled" and MISMATCH in each["message"] for each in conditions)


@contextmanager
def _redirect_to_another_path(scene: Scene, path: str) -> Iterator[None]:
    charts = scene.system.charts
    elsewhere = f"/moved{path}"
    archive = greeting_chart(name=REPOSITORY_CHART, version=scene.fleet.versions[-1])
    with charts.replacing(elsewhere, archive), charts.redirecting(path, charts.url + elsewhere):
        yield


def _redirect_in_a_circle(scene: Scene, path: str) -> AbstractContextManager[None]:
    return scene.system.charts.redirecting(path, path)


def _redirect_to_a_refused_address(scene: Scene, path: str) -> AbstractContextManager[None]:
    return scene.system.charts.redirecting(path, "http://169.254.169.254/latest/meta-data")


def _drop(scene: Scene, path: str) -> AbstractContextManager[None]:
    return scene.system.charts.dropping(path, "/index.yaml")


FAULTS: Final = (
    Fault(name="chart repository answers 5xx", inject=_while_wanted(_status(*SERVER_ERRORS))),
    Fault(name="chart repository answers 429", inject=_while_wanted(_status(HTTPStatus.TOO_MANY_REQUESTS))),
    Fault(name="chart repository hangs", inject=_while_wanted(_hold)),
    Fault(name="chart repository sends 1 B/s", inject=_while_wanted(_trickle)),
    Fault(name="chart archive truncated", inject=_while_wanted(_truncate)),
    Fault(
        name="chart archive of another digest",
        inject=_while_wanted(_serve_another_archive, permanent=True, look=_must_be_refused),
    ),
    Fault(name="chart archive moved", inject=_while_wanted(_redirect_to_another_path)),
    Fault(name="redirects in a circle", inject=_while_wanted(_redirect_in_a_circle, permanent=True)),
    Fault(name="redirect to a refused address", inject=_while_wanted(_redirect_to_a_refused_address, permanent=True)),
    Fault(name="chart repository drops connections", inject=_while_wanted(_drop)),
)
