"""Prepares a cluster before operator and gateway start."""

from pathlib import Path

from tests.localcluster import Cluster

SYSTEM_NAMESPACE = "xapp-operator-system"


def prepare_cluster(cluster: Cluster, root: Path) -> None:
    """Apply definitions, namespaces and roles, and wait until XApps can be created. Raises KubectlFailed."""
    base = root / "manifests" / "base"
    apply = ("apply", "--server-side", "--force-conflicts")
    cluster.kubectl(*apply, "-k", str(root / "crds"))
    files = [f"--filename={base / name}" for name in ("namespace.yaml", "deployer-role.yaml", "user-roles.yaml")]
    cluster.kubectl(*apply, *files)
    cluster.kubectl(*apply, "-k", str(root / "manifests" / "xapp-namespace"))
    kinds = ("xapps", "chartrepositories")
    names = [f"customresourcedefinition/{kind}.xapp-operator.io" for kind in kinds]
    cluster.kubectl("wait", "--for=condition=Established", *names, "--timeout=60s")


def link_programs(cluster: Cluster, folder: Path) -> None:
    """Link kubectl and helm of the cluster's version into ``folder``, for the user's PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in {"kubectl": cluster.kubectl_path, "helm": cluster.helm_path}.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(program)
