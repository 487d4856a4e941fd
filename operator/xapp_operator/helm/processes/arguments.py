"""The argument lists of helm, and the environment that it runs in: the one place that knows helm's flags. Pure.

Each flag was tried with helm 4.3.1:

- `--server-side=true --force-conflicts`: a field that another manager changed (`kubectl scale`) does not break every
  later upgrade, and labels of others survive.
- `--disable-openapi-validation`: the API server validates anyway. This halves the processor time.
- `--wait=hookOnly`: helm waits for hooks only. The live objects decide about Ready.
- `--reset-values`: values that were removed from the spec do not stay in force.
- `uninstall --cascade=background --wait=hookOnly`: helm returns when the deletes are accepted and the history is gone.
  `--wait=watcher` would occupy one of few slots while pods shut down, need list and watch permission on every kind, and
  drop the history after the timeout all the same.
- `uninstall --debug`: otherwise helm does not say why a delete was refused. It prints kinds and names, never values.
- `--post-renderer`: labels come with the objects. See `helm.labelling.post_rendering`.
- never `uninstall --ignore-not-found`: it takes any failure to read the history for "not found", even a missing
  permission.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final, Literal

from xapp_operator.helm.labelling.post_rendering import POST_RENDERER
from xapp_operator.helm.requests import (
    DryRunRequest,
    ReleaseOperation,
    ReleaseRequest,
    RollbackRequest,
    TemplateRequest,
    TestRequest,
    UninstallRequest,
)

API_VERSIONS_PER_FLAG_MAX: Final = 200  # an argument may have at most 128 KiB
GC_MEMORY_FRACTION: Final = 0.8  # of the hard limit; from there on Go collects garbage, despite GOGC=off

POST_RENDERER_FLAG: Final = f"--post-renderer={POST_RENDERER}"
_KEEP_HISTORY: Final = "--history-max=0"
"""helm deletes old revisions before it tries, so tries that fail would cost good ones. The reconciler does it later."""
_APPLY_FLAGS: Final = ("--server-side=true", "--force-conflicts")


def install(request: ReleaseRequest) -> tuple[str, ...]:
    return ("install", *_flag_if(request.replace, "--replace"), *_deploy_arguments(request))


def upgrade(request: ReleaseRequest) -> tuple[str, ...]:
    return ("upgrade", "--reset-values", _KEEP_HISTORY, *_deploy_arguments(request))


def uninstall(request: UninstallRequest) -> tuple[str, ...]:
    """Return the arguments of `helm uninstall`, which keeps no history."""
    return (
        "uninstall",
        *_common_flags(request),
        "--wait=hookOnly",
        "--cascade=background",
        "--debug",
        *_flag_if(request.no_hooks, "--no-hooks"),
        "--",
        request.name,
    )


def rollback(request: RollbackRequest) -> tuple[str, ...]:
    return (
        "rollback",
        *_common_flags(request),
        *_APPLY_FLAGS,
        "--wait=hookOnly",
        _KEEP_HISTORY,
        "--",
        request.name,
        str(request.revision),
    )


def test(request: TestRequest) -> tuple[str, ...]:
    return ("test", *_common_flags(request), "--", request.name)


def get(subcommand: Literal["manifest", "metadata"], release: ReleaseRequest) -> tuple[str, ...]:
    """Return the arguments of `helm get` for the newest revision of the release that `release` is about."""
    flags = (f"--namespace={release.namespace}", *_impersonation_flag(release.user))
    return ("get", subcommand, *flags, *_flag_if(subcommand == "metadata", "--output=json"), "--", release.name)


def template(request: TemplateRequest) -> tuple[str, ...]:
    """Return the arguments of `helm template`, which contacts no cluster."""
    versions = request.api_versions
    return (
        "template",
        f"--namespace={request.namespace}",
        f"--kube-version={request.kube_version}",
        *(
            f"--api-versions={','.join(versions[start : start + API_VERSIONS_PER_FLAG_MAX])}"
            for start in range(0, len(versions), API_VERSIONS_PER_FLAG_MAX)
        ),
        "--include-crds",
        *_flag_if(request.upgrade, "--is-upgrade"),
        *_chart_arguments(request),
    )


def dry_run(request: DryRunRequest) -> tuple[str, ...]:
    """Return the arguments of a dry run with the cluster, in which `lookup` finds what the user may read."""
    command = ("upgrade", "--reset-values") if request.upgrade else ("install",)
    return (
        *command,
        f"--namespace={request.namespace}",
        *_impersonation_flag(request.user),
        "--dry-run=server",
        *_APPLY_FLAGS,
        "--disable-openapi-validation",
        *_flag_if(request.take_ownership, "--take-ownership"),
        "--output=json",
        *_chart_arguments(request),
    )


def verify(*, archive: str, keyring: str) -> tuple[str, ...]:
    """Return the arguments of `helm verify`, which reads the provenance from `<archive>.prov`."""
    return ("verify", f"--keyring={keyring}", "--", archive)


def render_notes(request: TemplateRequest) -> tuple[str, ...]:
    """Return the arguments of a client-side dry run, which renders NOTES.txt; `helm template` does not.

    It has neither `--kube-version` nor `--api-versions`, so only the notes count.
    """
    flags = (f"--namespace={request.namespace}", "--dry-run=client", "--output=json")
    return ("install", *flags, *_chart_arguments(request))


def environment(
    *, working_folder: Path, discovery_cache: Path, kubeconfig: str, memory_bytes: int, plugins: Path | None = None
) -> dict[str, str]:
    """Return the whole environment of a helm process with at most `memory_bytes` of memory.

    Every folder that helm or the Kubernetes client looks for is inside `working_folder`, so there are no repositories
    or registry credentials of anybody else, and no plugins but those in `plugins`. All calls of one engine share
    `discovery_cache`, which holds the kinds of the API server: helm then need not write and remove 27 files, which
    halves the time of a call.
    `GOMAXPROCS=1 GOGC=off` halve the processor time of a short process.
    """
    return {
        "HOME": str(working_folder),
        "TMPDIR": str(working_folder),
        "HELM_CACHE_HOME": str(working_folder / "cache"),
        "HELM_CONFIG_HOME": str(working_folder / "config"),
        "HELM_DATA_HOME": str(working_folder / "data"),
        "HELM_PLUGINS": str(plugins or working_folder / "plugins"),
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
    labels = ",".join(f"{key}={value}" for key, value in sorted(request.labels.items()))
    return (
        *_common_flags(request),
        *_APPLY_FLAGS,
        "--disable-openapi-validation",
        "--wait=hookOnly",
        *_flag_if(bool(labels), f"--labels={labels}"),
        *_flag_if(request.take_ownership, "--take-ownership"),
        "--output=json",
        *_chart_arguments(request),
    )


def _chart_arguments(request: ReleaseRequest | TemplateRequest | DryRunRequest) -> tuple[str, ...]:
    skip_schema = _flag_if(request.skip_schema, "--skip-schema-validation")
    labelled = _flag_if(request.object_metadata is not None, POST_RENDERER_FLAG)
    return (*skip_schema, *labelled, "--values=-", "--", request.name, str(request.chart.absolute()))


def _common_flags(request: ReleaseOperation) -> tuple[str, ...]:
    timeout = max(1, math.ceil(request.timeout))
    return (f"--namespace={request.namespace}", *_impersonation_flag(request.user), f"--timeout={timeout}s")


def _impersonation_flag(user: str | None) -> tuple[str, ...]:
    return () if user is None else (f"--kube-as-user={user}",)


def _flag_if(condition: bool, flag: str) -> tuple[str, ...]:  # noqa: FBT001 - reads as a sentence
    return (flag,) if condition else ()
