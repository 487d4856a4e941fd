"""The sample xApp as a container: installed through the gateway, asked, changed, broken, removed."""

import json

import pytest

from tests.localcluster import Cluster
from tests.localcluster.realnode.node import LABELS, TAINT
from tests.support.charts import chart_archive
from tests.support.gateway import Serving
from tests.support.xapps import XAppKit

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_an_xapp_becomes_ready_and_a_container_runs_beside_it(
    e2e_xapps: XAppKit, e2e_gateway: Serving, e2e_cluster: Cluster, sample_image: str
) -> None:
    e2e_xapps.apply(e2e_xapps.uploaded("acme-ran-hello", chart_archive()))
    e2e_xapps.ready("acme-ran-hello")
    with e2e_gateway.client() as http:
        assert http.get(f"/api/xapps/{e2e_xapps.namespace}/acme-ran-hello").json()["ready"]
    overrides = {
        "spec": {
            "nodeSelector": LABELS,
            "tolerations": [{"key": TAINT, "operator": "Exists"}],
        }
    }
    e2e_xapps.kubectl("run", "beside", f"--image={sample_image}", f"--overrides={json.dumps(overrides)}", "--", "serve")
    e2e_xapps.kubectl("wait", "--for=condition=Ready", "pod/beside", "--timeout=60s")
