"""Faults of processes: operators, helm, and the control plane."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from tests.chaos.api_server_refusals import (
    HELD_SECONDS,
    READS,
    WRITES,
    answering_429,
    answering_500,
    answering_reads_with_500,
    expired_watches,
    refusals,
)
from tests.chaos.changes import change_some
from tests.chaos.helm_processes import HelmProcess
from tests.chaos.scene import Fault, Scene, WithoutEffect
from tests.chaos.system import LEASE_SECONDS
from tests.localcluster.processes import ProcessIdentity

LOST_LEAD: Final = ("leadership lost", "an error occurred during closing of asynchronous generator .*infinite_watch")
"""An operator that has lost the lead ends, and kopf may then say that it had to break off a watch."""
API_AWAY: Final = (*LOST_LEAD, r"^operator \w+: Request attempt #\d+/\d+ failed; will retry")
"""kopf calls each failed try of its watches an error."""
HELM_SECONDS: Final = 10.0
EXPIRY_SECONDS: Final = 10.0
RECOVERY_SECONDS: Final = 30.0
HALF: Final = 0.5
CHANGES_WHILE_FROZEN: Final = 4


def _kill_leader(scene: Scene) -> None:
    scene.system.leader().kill()


def _stop_leader(scene: Scene) -> None:
    scene.system.leader().stop()


def _kill_both(scene: Scene) -> None:
    for replica in scene.system.replicas.values():
        if replica.running:
            replica.kill()
    scene.system.pause(scene.rng.uniform(0, 3))


def _freeze_leader(scene: Scene) -> None:
    _freeze(scene, ProcessIdentity.of(scene.system.leader().pid))


def _freeze(scene: Scene, frozen: ProcessIdentity | None) -> None:
    """Stop an operator for longer than its lease, and let the next one have changes that this one does not know."""
    if frozen is None:
        raise WithoutEffect("the operator had ended")
    frozen.send_signal(signal.SIGSTOP)
    try:
        scene.system.pause(LEASE_SECONDS * scene.rng.uniform(1.2, 1.8))
        scene.fleet.apply(change_some(scene, CHANGES_WHILE_FROZEN))
        scene.system.pause(LEASE_SECONDS * scene.rng.uniform(0.3, 0.9))
    finally:
        frozen.send_signal(signal.SIGCONT)


def _freeze_leader_in_the_middle(scene: Scene, process: HelmProcess) -> None:
    scene.notes.append(f"while {process} ran")
    _freeze(scene, ProcessIdentity.of(scene.system.replicas[process.replica].pid))


def _stop_both(scene: Scene, _: HelmProcess) -> None:
    """Signal both at once, as an upgrade of a Deployment that recreates its pods does."""
    for replica in scene.system.replicas.values():
        if replica.running:
            replica.send_signal(signal.SIGTERM)


def _swap_replicas(scene: Scene) -> None:
    """Stop the leader three times in a row."""
    for _ in range(3):
        scene.system.leader().stop()
        scene.system.pause(scene.rng.uniform(0, 2))


def _on_helm(act: Callable[[Scene, HelmProcess], None]) -> Callable[[Scene], None]:
    def inject(scene: Scene) -> None:
        running = scene.system.wait_for_helm(HELM_SECONDS)
        if not running:
            raise WithoutEffect("no helm ran")
        act(scene, scene.rng.choice(running))

    return inject


def _kill_helm(scene: Scene, process: HelmProcess) -> None:
    scene.notes.append(f"killed {process}")
    process.identity.send_signal(signal.SIGKILL)


def _end_helm(scene: Scene, process: HelmProcess) -> None:
    scene.notes.append(f"ended {process}")
    process.identity.send_signal(signal.SIGTERM)


def _freeze_helm(scene: Scene, process: HelmProcess) -> None:
    process.identity.send_signal(signal.SIGSTOP)
    try:
        scene.system.pause(scene.rng.uniform(2, 10))
    finally:
        process.identity.send_signal(signal.SIGCONT)


def _kill_leader_in_the_middle(scene: Scene, process: HelmProcess) -> None:
    scene.notes.append(f"while {process} ran")
    scene.system.replicas[process.replica].kill()


def _freeze_api_server(scene: Scene) -> None:
    scene.system.freeze("kube-apiserver", scene.rng.uniform(3, 20))


def _freeze_api_server_for_a_minute(scene: Scene) -> None:
    scene.system.freeze("kube-apiserver", 60)


def _cool_watch_cache(scene: Scene) -> None:
    """Change XApps while the operators are cut off, and make the API server begin the watch cache of XApps anew.

    It does so when their CustomResourceDefinition changes. The watches of the operators are then too old (410). After a
    restart of the API server none is: it takes longer than a leader lasts without it, and a new leader lists first.
    """
    cluster, began = scene.system.cluster, datetime.now(UTC)
    with ExitStack() as stack:
        for link in scene.system.links.values():
            stack.enter_context(link.cut())
        chosen = scene.victims(3)
        for xapp in chosen:
            xapp.set_greeting(scene.greeting(xapp))
        scene.fleet.apply(chosen)
        change = json.dumps({"spec": {"names": {"categories": [f"chaos-{scene.number}"]}}})
        cluster.kubectl("patch", "crd", "xapps.xapp-operator.io", "--type=merge", "-p", change)
    expired: list[str] = []

    def look() -> bool:
        expired[:] = expired_watches(cluster, since=began)
        return bool(expired)

    if not scene.system.wait(look, EXPIRY_SECONDS):
        raise WithoutEffect("no watch of an operator was too old")
    scene.notes.append(f"too old: {', '.join(expired)}")


def _refuse_for_load(scene: Scene) -> None:
    verbs = scene.rng.choice((["*"], WRITES, ["get"], ["list", "watch"]))
    scene.notes.append(f"for {', '.join(verbs)}")
    fault = answering_429(scene.system.cluster, verbs)
    reopen = "watch" in verbs or "*" in verbs
    _refuse(scene, fault, HTTPStatus.TOO_MANY_REQUESTS, reopen_watches=reopen, longest=HELD_SECONDS - 1)


def _answer_500(scene: Scene) -> None:
    """Fail writes of some resources, or reads of all."""
    cluster, authorization = scene.system.cluster, scene.system.local.layout.authorization
    verbs: Sequence[str] = WRITES
    if scene.rng.random() < HALF:
        verbs = scene.rng.choice((READS, ("get",), ("list", "watch")))
        scene.notes.append(f"for {', '.join(verbs)}")
        fault = answering_reads_with_500(cluster, authorization, verbs)
    else:
        resources = scene.rng.choice((["*/*"], ["secrets"], ["xapps/*"], ["configmaps", "deployments", "services"]))
        scene.notes.append(f"for writes of {', '.join(resources)}")
        fault = answering_500(cluster, resources)
    _refuse(scene, fault, HTTPStatus.INTERNAL_SERVER_ERROR, reopen_watches="watch" in verbs)


def _refuse(
    scene: Scene,
    fault: AbstractContextManager[None],
    code: HTTPStatus,
    *,
    reopen_watches: bool,
    longest: float = 2 * LEASE_SECONDS,
) -> None:
    """Let the fault last, and look which requests it hit."""
    began = datetime.now(UTC)
    with fault:
        if reopen_watches:  # an open one stays open
            for link in scene.system.links.values():
                link.reset()
        scene.system.pause(scene.rng.uniform(2, longest))
    refused = refusals(scene.system.cluster, code, since=began)
    scene.notes.append(f"refused: {', '.join(f'{verb} {count}' for verb, count in sorted(refused.items()))}")
    if not refused:
        raise WithoutEffect("no request of an operator was refused")


def _restart_api_server(scene: Scene) -> None:
    scene.system.restart("kube-apiserver", down_seconds=scene.rng.uniform(0, 10))


def _freeze_etcd(scene: Scene) -> None:
    scene.system.freeze("etcd", scene.rng.uniform(3, 12))


def _restart_etcd(scene: Scene) -> None:
    scene.system.restart("etcd", down_seconds=scene.rng.uniform(0, 6))


def _last(scene: Scene, fault: AbstractContextManager[None], shortest: float, longest: float) -> None:
    with fault:
        scene.system.pause(scene.rng.uniform(shortest, longest))


def _cut_leader_off(scene: Scene) -> None:
    _last(scene, scene.system.link_of_leader().cut(), 1, 3 * LEASE_SECONDS)


def _stall_network_of_leader(scene: Scene) -> None:
    _last(scene, scene.system.link_of_leader().stalled(), 1, 3 * LEASE_SECONDS)


def _slow_network(scene: Scene) -> None:
    with ExitStack() as stack:
        for link in scene.system.links.values():
            stack.enter_context(link.slow(2.0))
        scene.system.pause(scene.rng.uniform(5, 20))


def _restart_controllers(scene: Scene) -> None:
    scene.system.restart("kube-controller-manager", down_seconds=scene.rng.uniform(0, 5))


FAULTS: Final = (
    Fault(name="operator killed", inject=_kill_leader),
    Fault(name="operator killed while helm runs", inject=_on_helm(_kill_leader_in_the_middle)),
    Fault(name="operator stopped", inject=_stop_leader),
    Fault(name="operator frozen", inject=_freeze_leader, explains=LOST_LEAD),
    Fault(name="operator frozen while helm runs", inject=_on_helm(_freeze_leader_in_the_middle), explains=LOST_LEAD),
    Fault(name="both operators killed", inject=_kill_both),
    Fault(name="both operators stopped while helm runs", inject=_on_helm(_stop_both)),
    Fault(name="replicas swap", inject=_swap_replicas),
    Fault(name="helm killed", inject=_on_helm(_kill_helm)),
    Fault(name="helm ended", inject=_on_helm(_end_helm)),
    Fault(name="helm frozen", inject=_on_helm(_freeze_helm)),
    Fault(name="API server frozen", inject=_freeze_api_server, explains=API_AWAY),
    Fault(
        name="API server frozen for 60 s",
        inject=_freeze_api_server_for_a_minute,
        explains=API_AWAY,
        limit=RECOVERY_SECONDS,
    ),
    Fault(name="API server answers 429", inject=_refuse_for_load, explains=API_AWAY),
    Fault(name="API server answers 500", inject=_answer_500, explains=API_AWAY),
    Fault(name="watch cache cold", inject=_cool_watch_cache, explains=API_AWAY),
    Fault(name="API server restarted", inject=_restart_api_server, explains=API_AWAY),
    Fault(name="etcd frozen", inject=_freeze_etcd, explains=API_AWAY),
    Fault(name="etcd restarted", inject=_restart_etcd, explains=API_AWAY),
    Fault(name="network of the leader cut", inject=_cut_leader_off, explains=API_AWAY),
    Fault(name="network of the leader stalled", inject=_stall_network_of_leader, explains=API_AWAY),
    Fault(name="network slow", inject=_slow_network, explains=API_AWAY),
    Fault(name="controllers restarted", inject=_restart_controllers),
)
