"""Where the cluster for tests and trials comes from: our own (default), kind, or the current kubeconfig context.

Every provider works on one folder: whoever knows the folder can use the cluster, and end it. What a provider makes it
takes away again; what it found it leaves as it was.
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
    """One way to have a cluster."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Make the cluster known in the folder; what is made for it ends with ``owner`` at the latest."""

    def attach(self, folder: Path) -> Cluster:
        """Return the cluster that start made known there."""

    def load_image(self, folder: Path, archive: Path) -> bool:
        """Bring an image, the tar of an OCI layout, to the nodes; tell whether there is a way to do that."""

    def stop(self, folder: Path) -> None:
        """Undo what start did."""


def choose_provider(name: str) -> Provider:
    """Return the provider for a value of the variable CLUSTER. Raises ValueError."""
    if name not in _PROVIDERS:
        raise ValueError(f"CLUSTER={name} is not known; use one of: {', '.join(_PROVIDERS)}")
    return _PROVIDERS[name]()


class LocalProvider:
    """The control plane of this package, with the nodes that the variable NODE asks for."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Start it."""
        return LocalCluster(folder, nodes=choose_nodes(folder=folder)).start(owner=owner)

    def attach(self, folder: Path) -> Cluster:
        """Find it."""
        return LocalCluster(folder).connect()

    def load_image(self, folder: Path, archive: Path) -> bool:
        """Bring it to the real node, if there is one."""
        local = LocalCluster(folder)
        if not local.state().node_address:
            return False
        local.load_image(archive)
        return True

    def stop(self, folder: Path) -> None:
        """End it."""
        LocalCluster(folder).stop()


class CurrentProvider:
    """The cluster of the current kubeconfig context, copied into the folder so that a later switch does no harm."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Copy the context; a user known by anything but a token gets a service account, for its token."""
        config = run_kubectl(_kubectl(), ["config", "view", "--raw", "--minify", "--flatten", "-o", "json"])
        write_private_file(_original_kubeconfig(folder), config)
        _write_credentials(folder)
        return self.attach(folder)

    def attach(self, folder: Path) -> Cluster:
        """Use the copy."""
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
        """Do nothing: how images come to nodes is known to whoever runs them."""
        return False

    def stop(self, folder: Path) -> None:
        """Take the service account away, if one was made."""
        if (folder / _ADMIN).exists():
            for target in (["clusterrolebinding", _ADMIN], ["serviceaccount", _ADMIN, "-n", _ADMIN_NAMESPACE]):
                run_kubectl(
                    _kubectl(), ["delete", *target, "--ignore-not-found"], kubeconfig=_original_kubeconfig(folder)
                )
        layout = ClusterLayout(folder)
        for path in (layout.kubeconfig, layout.token, _original_kubeconfig(folder), folder / _ADMIN):
            path.unlink(missing_ok=True)


class KindProvider(CurrentProvider):
    """A cluster of kind (Kubernetes in Docker), with the node image that the installed kind prefers."""

    def start(self, folder: Path, *, owner: ProcessIdentity) -> Cluster:
        """Create it; it outlives a crash of its owner, as everything in Docker does."""
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
        """Bring it to every node."""
        name = yaml.safe_load(self._config(folder).read_text())["name"]
        command = ["kind", "load", "image-archive", str(archive), "--name", name]
        subprocess.run(command, capture_output=True, check=True)
        return True

    def stop(self, folder: Path) -> None:
        """Delete it."""
        if self._config(folder).exists():
            self._manager(folder).delete()

    @staticmethod
    def _config(folder: Path) -> Path:
        return folder / "kind.yaml"

    def _manager(self, folder: Path) -> AClusterManager:
        # the library calls whatever kubectl is on the PATH
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
    """Return the place of the kubeconfig as it was found; the one for use knows the user by a token."""
    return folder / "original.kubeconfig"


def _write_credentials(folder: Path) -> None:
    """Write token and kubeconfig for the user of the original one, or a service account in that user's place.

    A client certificate would win over any token that a caller adds, so it must not be in the kubeconfig.
    """
    view = ["config", "view", "--raw", "--minify", "--flatten", "-o", "json"]
    config = json.loads(run_kubectl(_kubectl(), view, kubeconfig=_original_kubeconfig(folder)))
    token = config["users"][0]["user"].get("token") or _create_admin_account(folder)
    config["users"][0]["user"] = {"token": token}
    write_private_file(ClusterLayout(folder).token, token)
    write_private_file(ClusterLayout(folder).kubeconfig, json.dumps(config))


def _create_admin_account(folder: Path) -> str:
    """Make a service account that may do everything and return a token of it."""
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
