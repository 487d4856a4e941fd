"""Two tools that apply the same manifests server-side do not fight: neither has to force anything.

The API server adds defaults. Where a field belongs to its manager as a whole, such as `matchConstraints` of a policy, a
manifest that leaves them out differs from what is stored, and the second manager gets a conflict.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from tests.integration.test_manifests import COMPONENTS, MANIFESTS, OVERLAYS, of_kubernetes
from tests.localcluster import Cluster
from tests.support.own_cluster import cluster, prepared_cluster

__all__ = ["cluster", "prepared_cluster"]

NAMES = ("crds", "manifests/xapp-namespace", *(f"manifests/{overlay}" for overlay in OVERLAYS))

pytestmark = pytest.mark.integration


def apply(cluster: Cluster, manager: str, manifests: str, *options: str) -> str:
    return cluster.kubectl("apply", "--server-side", f"--field-manager={manager}", *options, "-f", "-", input=manifests)


@pytest.fixture(scope="module", autouse=True)
def watched_namespace(cluster: Cluster) -> None:
    """The namespace that the overlay `namespaced` watches."""
    apply(cluster, "first", of_kubernetes(cluster, MANIFESTS / "xapp-namespace"))


@pytest.mark.parametrize("name", NAMES)
def test_the_second_manager_has_no_conflict(cluster: Cluster, name: str) -> None:
    manifests = of_kubernetes(cluster, MANIFESTS.parent / name)
    apply(cluster, "first", manifests, "--force-conflicts")
    apply(cluster, "second", manifests)
    apply(cluster, "first", manifests)


def test_all_components_together_have_no_conflict(cluster: Cluster, tmp_path: Path) -> None:
    base = os.path.relpath(MANIFESTS, tmp_path.resolve())
    chosen = [name for name in COMPONENTS if name != "ingress"]
    content = {"resources": [f"{base}/base"], "components": [f"{base}/components/{name}" for name in chosen]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content))
    manifests = of_kubernetes(cluster, tmp_path)
    apply(cluster, "first", manifests, "--force-conflicts")
    apply(cluster, "second", manifests)
