"""Write what the Helm chart has in common with `crds/` and `manifests/base` into a folder (`make chart`).

For the chart of the project, the version in `manifests/base` is written too.

Objects that the values of the chart do not shape (definitions, roles, policies) are copied with their comments. Those
that they do shape are written by hand; tests/integration/chart compares them with what kustomize builds.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "manifests" / "chart"
BASE = "manifests/base"
MONITORING = "manifests/components/monitoring"
WATCHED = "manifests/watched-namespace"
NAMESPACE = "xapp-operator-system"
INSTALL_CRDS = ".Values.crds.install"
NAMESPACED = ".Values.rbac.namespaced"
PER_NAMESPACE = "each namespace that is watched, with .Values.rbac.namespaced"

CLUSTER_WIDE = {"xapp-operator", "xapp-operator-impersonation", "xapp-operator-monitor", "xapp-gateway"}
"""The ClusterRoles, and their bindings, that an installation for some namespaces does not have."""

SOURCES = {
    "crds/xapp-operator.io_xapps.yaml": INSTALL_CRDS,
    "crds/xapp-operator.io_chartrepositories.yaml": INSTALL_CRDS,
    "crds/xapp-operator.io_chartarchives.yaml": INSTALL_CRDS,
    "crds/namespace-policy.yaml": INSTALL_CRDS,
    f"{BASE}/operator-rbac.yaml": None,
    f"{BASE}/gateway-rbac.yaml": None,
    f"{BASE}/gateway-address.yaml": None,
    f"{BASE}/session-secret-policy.yaml": None,
    f"{BASE}/network-policies.yaml": ".Values.networkPolicies.enabled",
    f"{BASE}/deployer-role.yaml": None,
    f"{BASE}/deployer-policy.yaml": 'ne .Values.deployer.role "admin"',
    f"{BASE}/user-roles.yaml": None,
    "manifests/components/finalizer-policy/finalizer-policy.yaml": ".Values.finalizerPolicy.enabled",
    f"{WATCHED}/operator-watch.yaml": PER_NAMESPACE,
    f"{WATCHED}/gateway-watch.yaml": PER_NAMESPACE,
    "manifests/components/namespaced/system-pods.yaml": NAMESPACED,
    f"{MONITORING}/pod-monitor.yaml": ".Values.monitoring.podMonitor.enabled",
    f"{MONITORING}/prometheus-rule.yaml": ".Values.monitoring.prometheusRule.enabled",
}
"""The files to copy, and the condition of the chart for each."""

LABELS = "  labels:\n    app.kubernetes.io/name: xapp-operator\n"
FURTHER_LABELS = (
    '{{{{- with omit .Values.monitoring.{}.labels "app.kubernetes.io/name" }}}}\n{{{{ toYaml . | indent 4 }}}}\n'
    "{{{{- end }}}}\n"
)

INSERTIONS = {
    f"{BASE}/deployer-role.yaml": (
        '      xapp-operator.io/aggregate-to-deployer: "true"\n---\n',
        '{{- if eq .Values.deployer.role "admin" }}\n'
        '  - matchLabels:\n      rbac.authorization.k8s.io/aggregate-to-admin: "true"\n{{- end }}\n',
    ),
    f"{BASE}/network-policies.yaml": (
        "    - {protocol: TCP, port: 8443}\n---\n",
        "{{- range .Values.networkPolicies.extraEgressPorts }}\n"
        "    - {protocol: TCP, port: {{ int64 . }}}\n{{- end }}\n",
    ),
    f"{MONITORING}/pod-monitor.yaml": (LABELS, FURTHER_LABELS.format("podMonitor")),
    f"{MONITORING}/prometheus-rule.yaml": (LABELS, FURTHER_LABELS.format("prometheusRule")),
}
"""Lines that the values add: those of the file before them, and what comes there (before a `---`)."""

RUNBOOK = re.compile(r"^( +)runbook: docs/troubleshooting\.md(#\w+)\n", flags=re.MULTILINE)
RUNBOOK_URL = (
    "\\g<0>{{- with .Values.monitoring.prometheusRule.runbookURL }}\n"
    '\\1runbook_url: {{ printf "%s\\2" . | quote }}\n{{- end }}\n'
)

FILES = (f"{MONITORING}/grafana-dashboard.json",)
"""Files that templates of the chart read as they are."""

KEEP = "metadata:\n  {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n"


def template(source: str) -> str:
    """Return the template for a file of the repository. Raises ValueError where the file no longer fits."""
    text = (ROOT / source).read_text(encoding="utf-8")
    text = text.replace("{{", '{{ "{{" }}')  # templates of Prometheus, which helm must leave alone
    text = re.sub(r"\A# Generated .*\n", "", text)
    text = RUNBOOK.sub(RUNBOOK_URL, text)
    condition = SOURCES[source]
    if condition == INSTALL_CRDS:
        text = re.sub(r"^metadata:\n", KEEP, text, flags=re.MULTILINE)
    if source.endswith("-rbac.yaml"):
        text = "---\n".join(_unless_namespaced(document) for document in text.split("---\n"))
    if condition == PER_NAMESPACE:
        text = re.sub(r"^metadata:\n", "metadata:\n  namespace: {{ $namespace | quote }}\n", text, flags=re.MULTILINE)
    root = "$" if condition == PER_NAMESPACE else ""
    text = text.replace(NAMESPACE, f"{{{{ {root}.Release.Namespace | quote }}}}")
    if source in INSERTIONS:
        before, lines = INSERTIONS[source]
        if text.count(before) != 1:
            raise ValueError(f"{source} must have these lines once:\n{before}")
        kept = before.removesuffix("---\n")
        text = text.replace(before, kept + lines + before.removeprefix(kept))
    if condition == PER_NAMESPACE:
        text = (
            f"{{{{- if {NAMESPACED} }}}}\n{{{{- range $namespace := .Values.watchNamespaces }}}}\n---\n{text}"
            "{{- end }}\n{{- end }}\n"
        )
    elif condition is not None:
        text = f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"
    return f"{{{{- /* Generated from {source}: run `make chart` after a change there. */}}}}\n{text}"


def _unless_namespaced(document: str) -> str:
    """Return a document with the condition of the chart for what is bound to all namespaces."""
    found = re.search(r"^kind: ClusterRole(?:Binding)?\nmetadata:\n  name: (.*)$", document, flags=re.MULTILINE)
    if found is None or found[1] not in CLUSTER_WIDE:
        return document
    return f"{{{{- if not {NAMESPACED} }}}}\n{document}{{{{- end }}}}\n"


def package_version() -> str:
    """Return the version of the package."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def base_with_version() -> str:
    """Return the kustomization of the base with the image of this version."""
    text = (ROOT / BASE / "kustomization.yaml").read_text(encoding="utf-8")
    return re.sub(r"^  newTag: .*$", f"  newTag: {package_version()}", text, flags=re.MULTILINE)


def chart_metadata() -> str:
    """Return Chart.yaml with the version of the package."""
    version = package_version()
    text = (CHART / "Chart.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE)
    return re.sub(r"^appVersion: .*$", f'appVersion: "{version}"', text, flags=re.MULTILINE)


def main() -> None:
    """Write Chart.yaml and templates/generated into the folder given as the argument."""
    (folder,) = sys.argv[1:]
    if Path(folder).resolve() == CHART:
        (ROOT / BASE / "kustomization.yaml").write_text(base_with_version(), encoding="utf-8")
    generated = Path(folder) / "templates" / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    for old in generated.glob("*.yaml"):
        old.unlink()
    for source in SOURCES:
        (generated / Path(source).name).write_text(template(source), encoding="utf-8")
    files = Path(folder) / "files"
    files.mkdir(exist_ok=True)
    for source in FILES:
        (files / Path(source).name).write_bytes((ROOT / source).read_bytes())
    (Path(folder) / "Chart.yaml").write_text(chart_metadata(), encoding="utf-8")


if __name__ == "__main__":
    main()
