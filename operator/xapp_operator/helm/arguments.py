"""Requests as helm's argument lists, and the environment helm runs in. Pure: the one place that knows helm's flags.

Each flag was tried on helm 4.3.1. What they are for:

- `--server-side=true --force-conflicts`: a field that another manager changed (`kubectl scale`) does not break every
  later upgrade; labels of others survive.
- `--disable-openapi-validation`: the API server validates anyway; saves half of the processor time.
- `--wait=hookOnly`: helm waits for hooks alone; Ready is decided from the live objects.
- `--reset-values`: values that were removed from the spec do not stay in force.
- `uninstall --cascade=background --wait=hookOnly`: helm returns when the deletes are accepted and the history is gone.
  Objects vanish at once unless they have finalizers, so that a release of the same name can follow; pods end by
  themselves within their grace. Waiting (`--wait=watcher`) would hold one of few slots for that grace, need list and
  watch rights on every kind, and drop the history after the time-out all the same.
- `uninstall --debug`: the only way to learn why a delete was refused; without it, helm says no more than "failed to
  delete release". It prints kinds and names, never values.
- never `uninstall --ignore-not-found`: it takes any failure to read the history, a missing right too, for "not found".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from xapp_operator.helm.requests import (
    ReleaseRequest,
    RollbackRequest,
    TemplateRequest,
    TestRequest,
    UninstallRequest,
)

API_VERSIONS_PER_FLAG_MAX: Final = 200  # one argument may have 128 KiB
GC_MEMORY_FRACTION: Final = 0.8  # of the hard limit: where Go begins to collect garbage, which GOGC=off leaves to it

_APPLY_FLAGS: Final = ("--server-side=true", "--force-conflicts")


def install(request: ReleaseRequest) -> tuple[str, ...]:
    """Return the arguments of `helm install`."""
    flags = ("--replace",) if request.replace else ()
    return ("install", *flags, *_deploy_arguments(request))


def upgrade(request: ReleaseRequest) -> tuple[str, ...]:
    """Return the arguments of `helm upgrade`."""
    return ("upgrade", "--reset-values", f"--history-max={request.history_max}", *_deploy_arguments(request))


def uninstall(request: UninstallRequest) -> tuple[str, ...]:
    """Return the arguments of `helm uninstall`, which keeps no history."""
    return (
        "uninstall",
        *_common_flags(request.namespace, request.user, request.timeout),
        "--wait=hookOnly",
        "--cascade=background",
        "--debug",
        *_flag_if(request.no_hooks, "--no-hooks"),
        "--",
        request.name,
    )


def rollback(request: RollbackRequest) -> tuple[str, ...]:
    """Return the arguments of `helm rollback`."""
    return (
        "rollback",
        *_common_flags(request.namespace, request.user, request.timeout),
        *_APPLY_FLAGS,
        "--wait=hookOnly",
        f"--history-max={request.history_max}",
        *_flag_if(request.no_hooks, "--no-hooks"),
        "--",
        request.name,
        str(request.revision),
    )


def test(request: TestRequest) -> tuple[str, ...]:
    """Return the arguments of `helm test`."""
    return ("test", *_common_flags(request.namespace, request.user, request.timeout), "--", request.name)


def get(subcommand: str, *, name: str, namespace: str, user: str | None) -> tuple[str, ...]:
    """Return the arguments of `helm get manifest` or `helm get metadata` for the newest revision."""
    as_json = _flag_if(subcommand == "metadata", "--output=json")
    return ("get", subcommand, f"--namespace={namespace}", *_impersonation_flag(user), *as_json, "--", name)


def template(request: TemplateRequest) -> tuple[str, ...]:
    """Return the arguments of `helm template`, which contacts no cluster."""
    versions = (f"--api-versions={','.join(some)}" for some in _batches(request.api_versions))
    return (
        "template",
        f"--namespace={request.namespace}",
        f"--kube-version={request.kube_version}",
        *versions,
        "--include-crds",
        *_flag_if(request.upgrade, "--is-upgrade"),
        *_flag_if(request.skip_schema, "--skip-schema-validation"),
        "--values=-",
        "--",
        request.name,
        str(request.chart.absolute()),
    )


def render_notes(request: TemplateRequest) -> tuple[str, ...]:
    """Return the arguments of a client-side dry run, the only way to NOTES.txt: `helm template` leaves it out.

    It knows neither `--kube-version` nor `--api-versions`, so that only the notes are taken from it.
    """
    return (
        "install",
        f"--namespace={request.namespace}",
        "--dry-run=client",
        *_flag_if(request.skip_schema, "--skip-schema-validation"),
        "--output=json",
        "--values=-",
        "--",
        request.name,
        str(request.chart.absolute()),
    )


def environment(*, working_folder: Path, discovery_cache: Path, kubeconfig: str, memory_bytes: int) -> dict[str, str]:
    """Return the whole environment of a helm process that works in `folder` under `memory` bytes.

    Every folder that helm or the Kubernetes client would look for is inside: no plugins, repositories or registry
    credentials of anybody else. Only `discovery`, what the API server told of its kinds, is shared by all calls of one
    engine: helm asks anew each time, but need not write and remove 27 files, which halves the time of a call.
    `GOMAXPROCS=1 GOGC=off` halve the processor time of a short process.
    """
    return {
        "HOME": str(working_folder),
        "TMPDIR": str(working_folder),
        "HELM_CACHE_HOME": str(working_folder / "cache"),
        "HELM_CONFIG_HOME": str(working_folder / "config"),
        "HELM_DATA_HOME": str(working_folder / "data"),
        "HELM_PLUGINS": str(working_folder / "plugins"),
        "HELM_DRIVER": "secret",
        "KUBECACHEDIR": str(discovery_cache),
        "KUBECONFIG": kubeconfig,
        "GOMAXPROCS": "1",
        "GOGC": "off",
        "GOMEMLIMIT": str(int(memory_bytes * GC_MEMORY_FRACTION)),
        "GOTRACEBACK": "none",
        "NO_COLOR": "1",
    }


def _deploy_arguments(request: ReleaseRequest) -> tuple[str, ...]:
    return (
        *_common_flags(request.namespace, request.user, request.timeout),
        *_APPLY_FLAGS,
        "--disable-openapi-validation",
        "--wait=hookOnly",
        *_labels_flag(request.labels),
        *_flag_if(request.take_ownership, "--take-ownership"),
        *_flag_if(request.skip_schema, "--skip-schema-validation"),
        *_flag_if(request.no_hooks, "--no-hooks"),
        "--output=json",
        "--values=-",
        "--",
        request.name,
        str(request.chart.absolute()),
    )


def _common_flags(namespace: str, user: str | None, timeout: float) -> tuple[str, ...]:
    return (f"--namespace={namespace}", *_impersonation_flag(user), f"--timeout={max(1, math.ceil(timeout))}s")


def _impersonation_flag(user: str | None) -> tuple[str, ...]:
    return () if user is None else (f"--kube-as-user={user}",)


def _labels_flag(labels: Mapping[str, str]) -> tuple[str, ...]:
    return (f"--labels={','.join(f'{key}={value}' for key, value in sorted(labels.items()))}",) if labels else ()


def _batches(api_versions: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(api_versions), API_VERSIONS_PER_FLAG_MAX):
        yield api_versions[start : start + API_VERSIONS_PER_FLAG_MAX]


def _flag_if(condition: bool, flag: str) -> tuple[str, ...]:  # noqa: FBT001 - reads as a sentence
    return (flag,) if condition else ()
