"""Prepares a cluster before operator and gateway start."""

from pathlib import Path

from tests.localcluster import Cluster
from tests.localcluster.cluster import ROOT

SYSTEM_NAMESPACE = "xapp-operator-system"


def install_crds(cluster: Cluster, root: Path = ROOT) -> None:
    """Apply the definitions of a checkout, and wait until their kinds are served. Raises KubectlFailed."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(root / "crds"))
    names = [f"customresourcedefinition/{kind}.xapp-operator.io" for kind in ("xapps", "chartrepositories")]
    # kubectl fails on a definition that has no condition at all yet, instead of waiting for one.
    cluster.kubectl("wait", "--for=jsonpath={.status.conditions}", *names, "--timeout=60s")
    cluster.kubectl("wait", "--for=condition=Established", *names, "--timeout=60s")


def prepare_cluster(cluster: Cluster, root: Path) -> None:
    """Apply definitions, namespaces and roles, and wait until XApps can be created. Raises KubectlFailed."""
    base = root / "manifests" / "base"
    apply = ("apply", "--server-side", "--force-conflicts")
    install_crds(cluster, root)
    names = ("namespace.yaml", "deployer-role.yaml", "deployer-policy.yaml", "user-roles.yaml")
    files = [f"--filename={base / name}" for name in names]
    cluster.kubectl(*apply, *files)
    cluster.kubectl(*apply, "-k", str(root / "manifests" / "xapp-namespace"))


def link_programs(cluster: Cluster, folder: Path) -> None:
    """Link kubectl and helm of the cluster's version into ``folder``, for the user's PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in {"kubectl": cluster.kubectl_path, "helm": cluster.helm_path}.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(program)
