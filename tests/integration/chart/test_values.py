"""Every value has an effect, wrong values are refused with what to do, and no text of a value becomes a template."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.localcluster import Binaries
from tests.support.operator_chart import (
    CHART,
    EXAMPLES,
    chart_objects,
    container,
    pod_spec,
    refusal,
    rendered,
    run_helm,
)

pytestmark = pytest.mark.integration

Values = Mapping[str, Any]

PROXIED = {"gateway.trustedProxies": ["192.0.2.0/24"]}
INGRESS = {**PROXIED, "gateway.ingress.enabled": True, "gateway.ingress.host": "xapps.example.com"}
ROUTE = {**PROXIED, "gateway.httpRoute.enabled": True, "gateway.httpRoute.parentRefs": [{"name": "public"}]}
NAMESPACED = {"watchNamespaces": ["ric-xapps"], "clusterAdvertiseAddress": "192.0.2.1"}
TOLERATION = {"key": "ran", "operator": "Exists"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}

MONITORING_OBJECTS = {
    ("PodMonitor", "xapp-operator"),
    ("PrometheusRule", "xapp-operator"),
    ("ConfigMap", "xapp-operator-dashboard"),
}

EFFECTS: dict[str, tuple[Any, Values]] = {
    "image.repository": ("registry.example.com:5000/xapp-operator", {}),
    "image.tag": ("0.2.0", {}),
    "image.digest": (f"sha256:{'a' * 64}", {}),
    "image.pullPolicy": ("Always", {}),
    "imagePullSecrets": ([{"name": "registry"}], {}),
    "runAsUser": (1000, {}),
    "crds.install": (False, {}),
    "crds.keep": (False, {}),
    "watchNamespaces": (["ric-xapps"], {}),
    "clusterAdvertiseAddress": ("192.0.2.1", {}),
    "rbac.namespaced": (True, NAMESPACED),
    "repositoryDeniedNetworks": (["nodes", "10.0.0.0/8"], {}),
    "logLevel": ("DEBUG", {}),
    "secretsWatch": ("cluster", {}),
    "finalizerPolicy.enabled": (True, {}),
    "deployer.role": ("admin", {}),
    "networkPolicies.enabled": (False, {}),
    "networkPolicies.extraEgressPorts": ([16443], {}),
    **{
        f"monitoring.{name}.{field}": effect
        for name in ("podMonitor", "prometheusRule", "grafanaDashboard")
        for field, effect in {
            "enabled": (True, {}),
            "labels": ({"release": "prometheus"}, {f"monitoring.{name}.enabled": True}),
        }.items()
    },
    "monitoring.prometheusRule.runbookURL": (
        "https://docs.example.com/troubleshooting/",
        {"monitoring.prometheusRule.enabled": True},
    ),
    "operator.helm.concurrency": (3, {}),
    "operator.helm.memoryBytes": (1_234_567_890, {}),
    "operator.helm.waiting": (0, {}),
    "gateway.service.type": ("LoadBalancer", {}),
    "gateway.service.nodePort": (30080, {}),
    "gateway.service.externalTrafficPolicy": ("Local", {}),
    "gateway.service.annotations": ({"a": "b"}, {}),
    "gateway.auth.insecureSessions": (True, {}),
    "gateway.auth.sessionMaxSeconds": (3600, {}),
    "gateway.auth.allowedHosts": (["xapps.example.com"], {}),
    "gateway.tls.enabled": (True, {}),
    "gateway.tls.secretName": ("certificate", {"gateway.tls.enabled": True}),
    "gateway.ingress.enabled": (False, INGRESS),
    "gateway.ingress.host": ("other.example.com", INGRESS),
    "gateway.ingress.className": ("nginx", INGRESS),
    "gateway.ingress.tlsSecretName": ("certificate", INGRESS),
    "gateway.ingress.annotations": ({"a": "b"}, INGRESS),
    "gateway.httpRoute.enabled": (False, ROUTE),
    "gateway.httpRoute.parentRefs": ([{"name": "other"}], ROUTE),
    "gateway.httpRoute.hostnames": (["xapps.example.com"], ROUTE),
    "gateway.httpRoute.annotations": ({"a": "b"}, ROUTE),
    "gateway.httpRoute.timeouts": (None, ROUTE),
    "gateway.trustedProxies": (["198.51.100.7"], INGRESS),
    **{
        f"{component}.{name}": effect
        for component in ("operator", "gateway")
        for name, effect in {
            "replicas": (3, {}),
            "resources": ({"limits": {"memory": "8Gi"}}, {}),
            "extraEnv": ([{"name": "XAPP_WORKERS", "value": "3"}], {}),
            "podAnnotations": ({"a": "b"}, {}),
            "podDisruptionBudget.enabled": (True, {}),
            "podDisruptionBudget.maxUnavailable": ("50%", {f"{component}.podDisruptionBudget.enabled": True}),
            "priorityClassName": ("high", {}),
            "nodeSelector": ({"a": "b"}, {}),
            "tolerations": ([TOLERATION], {}),
            "affinity": ({"nodeAffinity": {}}, {}),
            "topologySpreadConstraints": ([SPREAD], {}),
        }.items()
    },
}
"""A change of each value, and the other values that it needs."""

SET_BY_THE_CHART = (
    *("XAPP_PORT", "XAPP_PROBE_PORT", "XAPP_GATEWAY_PROBE_PORT", "XAPP_METRICS_PORT", "XAPP_HOST", "XAPP_PROBE_HOST"),
    *("XAPP_METRICS_HOST", "XAPP_AUTH", "XAPP_TLS_CERT", "XAPP_TLS_KEY", "XAPP_TRUST_FORWARDED_PROTO"),
    *("XAPP_TRUSTED_PROXIES", "XAPP_INSECURE_SESSIONS", "XAPP_SESSION_MAX_SECONDS", "XAPP_ALLOWED_HOSTS"),
    *("XAPP_SESSION_SECRET", "XAPP_SESSION_NAMESPACE", "XAPP_NAMESPACES", "XAPP_SECRETS_WATCH", "XAPP_LOG_LEVEL"),
    *("XAPP_REPOSITORY_DENIED_NETWORKS", "XAPP_CLUSTER_ADVERTISE_ADDRESS", "XAPP_DEFAULT_SERVICE_ACCOUNT"),
    *("XAPP_CACHE_DIR", "XAPP_SIGNATURE_KEYS", "XAPP_HELM_MEMORY", "XAPP_HELM_CONCURRENCY", "XAPP_HELM_WAITING"),
    *("XAPP_LEADER_ELECTION_NAMESPACE", "XAPP_WORK_DIR"),
)
"""Settings for which the chart has a value, a port, a mount or a right."""

WHOLE_VALUES = {"resources", "annotations", "timeouts", "labels"}
"""Objects of values.yaml that are one value, with defaults inside."""


def leaves(values: Any, path: str = "") -> Iterator[str]:
    for name, each in values.items():
        if isinstance(each, dict) and each and name not in WHOLE_VALUES:
            yield from leaves(each, f"{path}{name}.")
        else:
            yield f"{path}{name}"


def nested(flat: Values) -> dict[str, Any]:
    """Return values from `{"gateway.tls.enabled": True}`."""
    result: dict[str, Any] = {}
    for path, value in flat.items():
        *folders, name = path.split(".")
        place = result
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = value
    return result


def test_the_table_has_every_value() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert sorted(EFFECTS) == sorted(leaves(values))


@pytest.mark.parametrize("path", EFFECTS)
def test_a_value_has_an_effect(binaries: Binaries, path: str) -> None:
    value, needed = EFFECTS[path]
    changed = {**needed, path: value}
    if path.endswith(("ingress.enabled", "httpRoute.enabled")):
        changed = {path: value}
    assert chart_objects(binaries, values=nested(changed)) != chart_objects(binaries, values=nested(needed))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"replica": 2}, "additional properties 'replica' not allowed"),
        ({"operator.replica": 2}, "additional properties 'replica' not allowed"),
        ({"gateway.tls.secret": "x"}, "additional properties 'secret' not allowed"),
        ({"gateway.auth.mode": "none"}, "additional properties 'mode' not allowed"),
        ({"gateway.serviceMonitor.enabled": True}, "additional properties 'serviceMonitor' not allowed"),
        ({"operator.replicas": "two"}, "got string, want integer"),
        ({"image.tag": 0.1}, "got number, want string"),
        ({"image.tag": "0.1\n- evil"}, "does not match pattern"),
        ({"image.digest": "sha256:abc"}, "does not match pattern"),
        ({"image.repository": "x\ny: z"}, "does not match pattern"),
        ({"image.repository": "xapp-operator:0.1.0"}, "does not match pattern"),
        ({"image.repository": "registry.example.com//x"}, "does not match pattern"),
        ({"runAsUser": 0}, "minimum: got 0, want 1"),
        ({"logLevel": "debug"}, "value must be one of 'DEBUG', 'INFO'"),
        ({"deployer.role": "cluster-admin"}, "value must be one of 'edit', 'admin'"),
        ({"monitoring.podMonitor.labels": {"release": 1}}, "got number, want null or string"),
        ({"monitoring.prometheusRule.runbookURL": "docs/x.md"}, "'docs/x.md' does not match pattern"),
        ({"monitoring.prometheusRule.runbookURL": "https://x/#y"}, "'https://x/#y' does not match pattern"),
        ({"secretsWatch": "all"}, "value must be one of 'namespaced', 'cluster'"),
        ({"watchNamespaces": ["ric xapps"]}, "does not match pattern"),
        ({"networkPolicies.extraEgressPorts": [70000]}, "maximum: got 70,000, want 65,535"),
        ({"operator.extraEnv": [{"name": "A", "value": 1}]}, "got number, want string"),
        ({"operator.extraEnv": [{"name": "A"}]}, "oneOf"),
        ({"gateway.trustedProxies": ["the proxy"]}, "does not match pattern"),
        ({"gateway.ingress.host": "https://x"}, "does not match pattern"),
        ({"operator.tolerations": [{"effect": "Never"}]}, "value must be one of 'NoSchedule'"),
        ({"image.tag": "1", "image.digest": f"sha256:{'a' * 64}"}, "remove image.tag"),
        (
            {"operator.extraEnv": [{"name": "XAPP_CACHE_DIR", "value": "/x"}]},
            "operator.extraEnv sets XAPP_CACHE_DIR, which belongs to the chart",
        ),
        *(
            (
                {f"{component}.extraEnv": [{"name": name, "value": "1"}]},
                f"{component}.extraEnv sets {name}, which belongs to the chart",
            )
            for component in ("operator", "gateway")
            for name in SET_BY_THE_CHART
        ),
        ({"gateway.extraEnv": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, "gateway.extraEnv sets A"),
        ({"gateway.ingress.enabled": True, **PROXIED}, "gateway.ingress.host is empty: set the host name"),
        ({**INGRESS, "gateway.trustedProxies": []}, "need gateway.trustedProxies: set it to the network"),
        ({**INGRESS, "gateway.service.type": "NodePort"}, "clients could set them: leave gateway.service.type empty"),
        ({**ROUTE, "gateway.service.type": "LoadBalancer"}, "clients could set them: leave gateway.service.type empty"),
        ({**INGRESS, "gateway.service.externalTrafficPolicy": "Local"}, "needs a Service of type NodePort"),
        ({**ROUTE, "gateway.httpRoute.parentRefs": []}, "gateway.httpRoute.parentRefs is empty: name the Gateway"),
        (
            {**NAMESPACED, "rbac.namespaced": True, "watchNamespaces": []},
            "watchNamespaces is empty: name the namespaces",
        ),
        (
            {**NAMESPACED, "rbac.namespaced": True, "clusterAdvertiseAddress": ""},
            "clusterAdvertiseAddress is empty, but with rbac.namespaced the operator may not read the nodes",
        ),
        (
            {"watchNamespaces": ["ric-xapps"], "secretsWatch": "cluster"},
            "secretsWatch is cluster, but with watchNamespaces the operator watches each namespace on its own",
        ),
        ({**NAMESPACED, "rbac.namespaced": True, "secretsWatch": "cluster"}, "secretsWatch is cluster, but"),
        (
            {"watchNamespaces": ["ric-xapps"], "finalizerPolicy.enabled": True},
            "finalizerPolicy.enabled is true, but with watchNamespaces nobody would remove the finalizer",
        ),
        (
            {"networkPolicies.enabled": False, "networkPolicies.extraEgressPorts": [16443]},
            "networkPolicies.extraEgressPorts has an effect only with networkPolicies.enabled: remove it",
        ),
        (
            {"gateway.service.type": "ClusterIP", "gateway.service.nodePort": 30080},
            "gateway.service.nodePort needs a Service of type NodePort or LoadBalancer: remove it",
        ),
        ({**INGRESS, "gateway.service.nodePort": 30080}, "gateway.service.nodePort needs a Service of type NodePort"),
        *(
            (
                {f"monitoring.{name}.labels": {"app.kubernetes.io/name": "x"}},
                f"monitoring.{name}.labels has app.kubernetes.io/name, which the chart sets itself: remove it",
            )
            for name in ("podMonitor", "prometheusRule", "grafanaDashboard")
        ),
        ({"operator": None}, "missing property 'operator'"),
        ({"gateway": None}, "missing property 'gateway'"),
        ({"gateway.auth": None}, "missing property 'auth'"),
        ({"operator.podDisruptionBudget": None}, "missing property 'podDisruptionBudget'"),
        ({"monitoring.podMonitor": None}, "missing property 'podMonitor'"),
        ({"crds.keep": None}, "missing property 'keep'"),
        ({"networkPolicies.enabled": None}, "missing property 'enabled'"),
        ({"operator.helm.concurrency": None}, "missing property 'concurrency'"),
        ({"gateway.auth.sessionMaxSeconds": None}, "missing property 'sessionMaxSeconds'"),
        ({"image.repository": None}, "missing property 'repository'"),
        ({"gateway.ingress.host": "x.example.com"}, "has an effect only with gateway.ingress.enabled"),
        ({"gateway.httpRoute.hostnames": ["x.example.com"]}, "have an effect only with gateway.httpRoute.enabled"),
        ({**INGRESS, "gateway.trustedProxies": ["999.0.0.0/99"]}, "'999.0.0.0/99' does not match pattern"),
        ({**INGRESS, "gateway.trustedProxies": ["10.0.0.0/33"]}, "'10.0.0.0/33' does not match pattern"),
        ({**INGRESS, "gateway.trustedProxies": ["fd00::/129"]}, "'fd00::/129' does not match pattern"),
        ({"repositoryDeniedNetworks": ["999.0.0.0/99"]}, "'999.0.0.0/99' does not match pattern"),
        ({"repositoryDeniedNetworks": ["cluster"]}, "does not match pattern"),
        *(
            (
                {**NAMESPACED, "rbac.namespaced": True, "repositoryDeniedNetworks": ["10.0.0.0/8", word]},
                f"repositoryDeniedNetworks has {word}, but with rbac.namespaced the operator may not read those",
            )
            for word in ("services", "nodes")
        ),
        (PROXIED, "gateway.trustedProxies has an effect only with gateway.ingress or gateway.httpRoute"),
        (
            {"gateway.tls.enabled": True, "gateway.auth.insecureSessions": True},
            "the gateway is behind HTTPS: remove it",
        ),
    ],
    ids=str,
)
def test_wrong_values_are_refused_with_a_reason(binaries: Binaries, wrong: Values, message: str) -> None:
    assert message in refusal(binaries, nested(wrong))


HOSTILE = [
    '{{ fail "template" }}',
    "x\n---\nkind: Secret\nmetadata: {name: stolen}",
    '"}, {name: XAPP_ALLOW_OPERATOR_IDENTITY, value: "true',
    "'quoted' \\ #comment: & *anchor",
    "true",
    "0123",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_values_stay_texts(binaries: Binaries, text: str) -> None:
    texts = {"key": text, "other": text}
    common = {
        "extraEnv": [{"name": "TEXT", "value": text}],
        "podAnnotations": texts,
        "nodeSelector": texts,
        "tolerations": [{"key": text, "value": text, "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {text: text}},
        "topologySpreadConstraints": [{**SPREAD, "topologyKey": text}],
    }
    values = nested({**INGRESS, "gateway.ingress.annotations": texts, "gateway.service.annotations": texts})
    monitoring = {
        name: {"enabled": True, "labels": texts} for name in ("podMonitor", "prometheusRule", "grafanaDashboard")
    }
    values = {**values, "operator": common, "gateway": {**values["gateway"], **common}, "monitoring": monitoring}
    objects = chart_objects(binaries, values=values)
    assert objects.keys() == chart_objects(binaries, EXAMPLES["ingress"], EXAMPLES["monitoring"]).keys()
    for kind, name in MONITORING_OBJECTS:
        assert objects[kind, name]["metadata"]["labels"].items() >= texts.items()
    for component in ("operator", "gateway"):
        pod = pod_spec(objects, component)
        assert {"name": "TEXT", "value": text} in container(objects, component)["env"]
        assert pod["nodeSelector"] == texts
        assert pod["tolerations"] == common["tolerations"]
        assert pod["affinity"] == common["affinity"]
        assert pod["topologySpreadConstraints"] == common["topologySpreadConstraints"]
        annotations = objects["Deployment", f"xapp-{component}"]["spec"]["template"]["metadata"]["annotations"]
        assert annotations.items() >= texts.items()
    assert objects["Service", "xapp-gateway"]["metadata"]["annotations"] == texts
    assert objects["Ingress", "xapp-gateway"]["metadata"]["annotations"].items() >= texts.items()


def test_the_release_name_is_in_no_object(binaries: Binaries) -> None:
    """All objects have fixed names: the RoleBindings of namespaces with xApps refer to them."""
    other = run_helm(binaries, "template", "other", str(CHART), "--namespace", "xapp-operator-system")
    assert other == rendered(binaries)


def test_the_http_route_sends_everything_to_the_gateway(binaries: Binaries) -> None:
    objects = chart_objects(binaries, EXAMPLES["http-route"])
    assert objects["HTTPRoute", "xapp-gateway"]["spec"] == {
        "parentRefs": [{"name": "public", "namespace": "gateways", "sectionName": "https"}],
        "hostnames": ["xapps.example.com"],
        "rules": [
            {
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                "backendRefs": [{"name": "xapp-gateway", "port": 31315}],
                "timeouts": {"request": "0s", "backendRequest": "0s"},
            }
        ],
    }
    (port,) = objects["Service", "xapp-gateway"]["spec"]["ports"]
    assert (objects["Service", "xapp-gateway"]["spec"]["type"], port["port"]) == ("ClusterIP", 31315)
    environment = {each["name"]: each.get("value") for each in container(objects, "gateway")["env"]}
    assert environment["XAPP_TRUST_FORWARDED_PROTO"] == "true"
    assert environment["XAPP_TRUSTED_PROXIES"] == "192.0.2.0/24"


def test_an_ingress_speaks_https_to_a_gateway_with_https(binaries: Binaries) -> None:
    def protocol(values: Values) -> Any:
        ingress = chart_objects(binaries, values=nested({**INGRESS, **values}))["Ingress", "xapp-gateway"]
        return ingress["metadata"].get("annotations", {}).get("nginx.ingress.kubernetes.io/backend-protocol")

    assert protocol({}) is None
    assert protocol({"gateway.tls.enabled": True}) == "HTTPS"
    chosen = {"nginx.ingress.kubernetes.io/backend-protocol": "GRPCS"}
    assert protocol({"gateway.tls.enabled": True, "gateway.ingress.annotations": chosen}) == "GRPCS"
    assert protocol({"gateway.tls.enabled": True, "gateway.ingress.annotations": None}) is None


def test_an_image_with_a_digest_has_no_tag(binaries: Binaries) -> None:
    digest = f"sha256:{'0123456789abcdef' * 4}"
    objects = chart_objects(binaries, EXAMPLES["production"])
    images = {container(objects, component)["image"] for component in ("operator", "gateway")}
    images.add(objects["Pod", "xapp-gateway-readyz"]["spec"]["containers"][0]["image"])
    assert images == {f"registry.example.com/ran/xapp-operator@{digest}"}


@pytest.mark.parametrize("path", EFFECTS)
def test_null_is_refused_or_the_same_as_nothing(binaries: Binaries, path: str) -> None:
    """For helm, null removes a default: what runs must not depend on what a missing value happens to mean."""
    if path == "runAsUser":
        return
    try:
        objects = chart_objects(binaries, values=nested({path: None}))
    except subprocess.CalledProcessError as error:
        refused = str(error.stderr)
    else:
        refused = ""
        expected = chart_objects(binaries)
        if path == "gateway.service.nodePort":  # the same as 0
            del expected["Service", "xapp-gateway"]["spec"]["ports"][0]["nodePort"]
        assert objects == expected
    assert not refused or f"missing property '{path.rpartition('.')[2]}'" in refused


def test_null_removes_the_user_from_all_pods(binaries: Binaries) -> None:
    text = json.dumps([*chart_objects(binaries, values={"runAsUser": None}).values()])
    assert '"runAsNonRoot": true' in text
    assert "runAsUser" not in text
    assert "runAsGroup" not in text
