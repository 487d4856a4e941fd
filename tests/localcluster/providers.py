"""The sources of a cluster: the local control plane (default), kind, or the current kubeconfig context.

A provider keeps everything about its cluster in one folder, through which other processes can use and stop it. It
removes what it created, and leaves unchanged what it found.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import yaml
from pytest_kubernetes.options import ClusterOptions  # type: ignore[import-untyped]
from pytest_kubernetes.providers import select_provider_manager  # type: ignore[import-untyped]
from pytest_kubernetes.providers.base import AClusterManager  # type: ignore[import-untyped]

from tests.localcluster.access import Cluster, run_kubectl
from tests.localcluster.binaries import Binaries
from tests.localcluster.cluster import LocalCluster
from tests.localcluster.kubeconfig import write_private_file
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.node_choice import choose_nodes
from tests.localcluster.processes import ProcessIdentity

_ADMIN = "xapp-operator-tests"
_ADMIN_NAMESPACE = "kube-system"
_TOKEN_DURATION = "24h"
_KIND_READY_SECONDS = 180


class Provider(Protocol):
    """One source of a cluster."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Start or find the cluster, and record it in the folder. It stops when ``owner`` ends, at the latest."""

    def attach(self, folder: Path) -> Cluster:
        """Return the cluster that `start` recorded in the folder."""

    def load_image(self, folder: Path, archive: Path) -> bool:
        """Load an image, the tar of an OCI layout, into the nodes; return False if the provider cannot."""

    def stop(self, folder: Path) -> None:
        """Undo `start`."""


def choose_provider(name: str) -> Provider:
    """Return the provider for a value of the variable CLUSTER. Raises ValueError."""
    if name not in _PROVIDERS:
        raise ValueError(f"CLUSTER={name} is not known; use one of: {', '.join(_PROVIDERS)}")
    return _PROVIDERS[name]()


class LocalProvider:
    """The control plane of this package, with the nodes that the variable NODE selects."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Start the cluster."""
        return LocalCluster(folder, nodes=choose_nodes(folder=folder)).start(owner=owner)

    def attach(self, folder: Path) -> Cluster:
        """Return the running cluster."""
        return LocalCluster(folder).connect()

    def load_image(self, folder: Path, archive: Path) -> bool:
        """Load it into the real node, if there is one."""
        local = LocalCluster(folder)
        if not local.state().node_address:
            return False
        local.load_image(archive)
        return True

    def stop(self, folder: Path) -> None:
        """Stop the cluster."""
        LocalCluster(folder).stop()


class CurrentProvider:
    """The cluster of the current kubeconfig context, which is copied, so that switching contexts has no effect."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Copy the context. For a user without a token, create a service account and use its token."""
        config = run_kubectl(_kubectl(), ["config", "view", "--raw", "--minify", "--flatten", "-o", "json"])
        write_private_file(_original_kubeconfig(folder), config)
        _write_credentials(folder)
        return self.attach(folder)

    def attach(self, folder: Path) -> Cluster:
        """Return the cluster of the copied context."""
        layout = ClusterLayout(folder)
        config = json.loads(layout.kubeconfig.read_text())
        programs = Binaries().resolve(["kubectl", "helm"])
        return Cluster(
            kubeconfig=layout.kubeconfig,
            server=str(config["clusters"][0]["cluster"]["server"]),
            token=layout.token.read_text().strip(),
            kubectl_path=programs["kubectl"],
            helm_path=programs["helm"],
        )

    def load_image(self, folder: Path, archive: Path) -> bool:
        """Do nothing: how to load an image depends on the cluster."""
        return False

    def stop(self, folder: Path) -> None:
        """Delete the service account, if one was created, and the copied files."""
        if (folder / _ADMIN).exists():
            for target in (["clusterrolebinding", _ADMIN], ["serviceaccount", _ADMIN, "-n", _ADMIN_NAMESPACE]):
                run_kubectl(
                    _kubectl(), ["delete", *target, "--ignore-not-found"], kubeconfig=_original_kubeconfig(folder)
                )
        layout = ClusterLayout(folder)
        for path in (layout.kubeconfig, layout.token, _original_kubeconfig(folder), folder / _ADMIN):
            path.unlink(missing_ok=True)


class KindProvider(CurrentProvider):
    """A cluster of kind (Kubernetes in Docker), with the default node image of the installed kind."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Create the cluster. It survives a crash of its owner."""
        if shutil.which("kind") is None:
            raise ValueError("CLUSTER=kind needs the program kind, and Docker; install them or leave CLUSTER unset")
        folder.mkdir(parents=True, exist_ok=True)
        name = f"xapp-operator-{owner.pid}"
        config = {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "name": name}
        self._config(folder).write_text(yaml.safe_dump(config))
        options = ClusterOptions(kubeconfig_path=_original_kubeconfig(folder))
        self._manager(folder).create(options, timeout=_KIND_READY_SECONDS)
        _write_credentials(folder)
        return self.attach(folder)

    def load_image(self, folder: Path, archive: Path) -> bool:
        """Load it into every node."""
        name = yaml.safe_load(self._config(folder).read_text())["name"]
        command = ["kind", "load", "image-archive", str(archive), "--name", name]
        subprocess.run(command, capture_output=True, check=True)
        return True

    def stop(self, folder: Path) -> None:
        """Delete the cluster."""
        if self._config(folder).exists():
            self._manager(folder).delete()

    @staticmethod
    def _config(folder: Path) -> Path:
        return folder / "kind.yaml"

    def _manager(self, folder: Path) -> AClusterManager:
        # the library runs the first kubectl in PATH
        os.environ["PATH"] = os.pathsep.join([str(_kubectl().parent), os.environ.get("PATH", os.defpath)])
        return select_provider_manager("kind")(provider_config=str(self._config(folder)))


_PROVIDERS: Mapping[str, Callable[[], Provider]] = {
    "local": LocalProvider,
    "kind": KindProvider,
    "current": CurrentProvider,
}


def _kubectl() -> Path:
    return Binaries().resolve(["kubectl"])["kubectl"]


def _original_kubeconfig(folder: Path) -> Path:
    """Return the path of the original kubeconfig; the one for use authenticates with a token."""
    return folder / "original.kubeconfig"


def _write_credentials(folder: Path) -> None:
    """Write token and kubeconfig for the original user, or for a service account instead.

    The kubeconfig must not contain a client certificate: it would take precedence over a token that a caller adds.
    """
    view = ["config", "view", "--raw", "--minify", "--flatten", "-o", "json"]
    config = json.loads(run_kubectl(_kubectl(), view, kubeconfig=_original_kubeconfig(folder)))
    token = config["users"][0]["user"].get("token") or _create_admin_account(folder)
    config["users"][0]["user"] = {"token": token}
    write_private_file(ClusterLayout(folder).token, token)
    write_private_file(ClusterLayout(folder).kubeconfig, json.dumps(config))


def _create_admin_account(folder: Path) -> str:
    """Create a cluster administrator's service account and return a token for it."""
    (folder / _ADMIN).touch()
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": _ADMIN, "namespace": _ADMIN_NAMESPACE},
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _ADMIN},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": _ADMIN, "namespace": _ADMIN_NAMESPACE}],
    }
    kubeconfig = _original_kubeconfig(folder)
    manifests = yaml.safe_dump_all([account, binding])
    run_kubectl(_kubectl(), ["apply", "-f", "-"], kubeconfig=kubeconfig, standard_input=manifests)
    command = ["create", "token", _ADMIN, "-n", _ADMIN_NAMESPACE, f"--duration={_TOKEN_DURATION}"]
    return run_kubectl(_kubectl(), command, kubeconfig=kubeconfig)
