"""The kubeconfig that helm reads.

In a pod helm must not find its own way: the Kubernetes client library drops `--kube-as-user` when it falls back to the
in-cluster configuration (client-go, `clientcmd.inClusterClientConfig`), so that helm would act as the operator. So a
pod gets a kubeconfig too, which names the mounted token by its path and holds no secret.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

SERVICE_ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


def absolute_paths(kubeconfig: str) -> str:
    """Return the value of KUBECONFIG, one path or several, with absolute paths: helm works in a folder of its own."""
    return os.pathsep.join(str(Path(path).expanduser().absolute()) for path in kubeconfig.split(os.pathsep) if path)


def write_pod_kubeconfig(path: Path, *, server: str, account_folder: str = SERVICE_ACCOUNT_FOLDER) -> None:
    """Write the kubeconfig of a pod for the API server at `server`; `account` is the folder of its token and CA."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "pod",
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}],
        "clusters": [
            {"name": "pod", "cluster": {"server": server, "certificate-authority": f"{account_folder}/ca.crt"}}
        ],
        "users": [{"name": "pod", "user": {"tokenFile": f"{account_folder}/token"}}],
    }
    path.write_text(json.dumps(content))
