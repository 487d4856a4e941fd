"""The kubeconfig that helm reads.

A pod needs one too: with the in-cluster configuration, the Kubernetes client library ignores `--kube-as-user`
(client-go, `clientcmd.inClusterClientConfig`), so helm would act as the operator. The file names the mounted token by
its path and contains no secret.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

SERVICE_ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


def absolute_paths(kubeconfig: str) -> str:
    """Return the value of KUBECONFIG, one path or several, with absolute paths, because helm runs in another folder."""
    return os.pathsep.join(str(Path(path).expanduser().absolute()) for path in kubeconfig.split(os.pathsep) if path)


def write_pod_kubeconfig(path: Path, *, server: str, account_folder: str = SERVICE_ACCOUNT_FOLDER) -> None:
    """Write the kubeconfig of a pod for the API server at `server`; `account_folder` has its token and CA."""
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
