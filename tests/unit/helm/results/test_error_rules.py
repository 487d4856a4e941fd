"""Every message here was printed by helm 4.3.1, most of them with a kube-apiserver 1.36.3.

`tests/integration/helm/test_failures.py` provokes those again that come from the API server.
"""

import pytest

from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.errors import (
    AccessDenied,
    ApiUnavailable,
    ChartInvalid,
    HelmError,
    HelmTimeout,
    HookFailed,
    Invalid,
    KindNotServed,
    NamespaceTerminating,
    QuotaExceeded,
    ReleaseTooLarge,
    ValuesInvalid,
    XAppError,
)
from xapp_operator.helm.results.error_rules import error_from_stderr, is_release_not_found, template_stop_reason
from xapp_operator.helm.results.stderr import WITHHELD_UNREAD

INSTALL = "Error: INSTALLATION FAILED: "
UPGRADE = "Error: UPGRADE FAILED: "
APPLY = "server-side apply failed for object ric/x "
DEBUG_HINT = "\n\nUse --debug flag to render out invalid YAML\n"

CASES: list[tuple[str, str, type[XAppError], bool, tuple[str, ...]]] = [
    (
        "forbidden-read",
        f"{INSTALL}unable to continue with install: could not get information about the resource ConfigMap "
        '"x" in namespace "ric": configmaps "x" is forbidden: User "system:serviceaccount:ric:nobody" cannot get '
        'resource "configmaps" in API group "" in the namespace "ric"\n',
        AccessDenied,
        True,
        ("system:serviceaccount:ric:nobody may not get configmaps in namespace ric",),
    ),
    (
        "forbidden-at-cluster-scope",
        f"{INSTALL}failed to install CRD crds/w.yaml: server-side apply failed for object /widgets.h.example.com "
        "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition: customresourcedefinitions.apiextensions.k8s.io "
        '"widgets.h.example.com" is forbidden: User "system:serviceaccount:ric:adm" cannot patch resource '
        '"customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope\n',
        AccessDenied,
        True,
        ("may not patch customresourcedefinitions of API group apiextensions.k8s.io at the cluster scope",),
    ),
    (
        "forbidden-hook",
        f'{INSTALL}failed pre-install: configmaps "a" is forbidden: User "system:serviceaccount:ric:adm" cannot '
        'delete resource "configmaps" in API group "" in the namespace "default"\n',
        AccessDenied,
        True,
        ("may not delete configmaps in namespace default",),
    ),
    (
        "forbidden-uninstall",
        'level=DEBUG msg="getting release history" name=x\n'
        'level=DEBUG msg="uninstall: Failed to delete release" error="[configmaps \\"x\\" is forbidden: User '
        '\\"system:serviceaccount:ric:nodel\\" cannot delete resource \\"configmaps\\" in API group \\"\\" in the '
        'namespace \\"ric\\"]"\nError: failed to delete release: x\n',
        AccessDenied,
        True,
        ("system:serviceaccount:ric:nodel may not delete configmaps in namespace ric",),
    ),
    (
        "escalation",
        f'{INSTALL}{APPLY}rbac.authorization.k8s.io/v1, Kind=Role: roles.rbac.authorization.k8s.io "x" is forbidden: '
        'user "system:serviceaccount:ric:adm" (groups=["system:serviceaccounts"]) is attempting to grant RBAC '
        'permissions not currently held:\n{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}\n',
        AccessDenied,
        True,
        ("Grant the service account that permission",),
    ),
    (
        "quota",
        f'{INSTALL}{APPLY}/v1, Kind=ConfigMap: configmaps "x" is forbidden: exceeded quota: q, requested: '
        "configmaps=1, used: configmaps=1, limited: configmaps=1\n",
        QuotaExceeded,
        False,
        ("exceeded quota: q", "Raise the ResourceQuota"),
    ),
    (
        "namespace-terminating",
        f'{INSTALL}create: failed to create: secrets "sh.helm.release.v1.x.v1" is forbidden: unable to create new '
        "content in namespace ric because it is being terminated\n",
        NamespaceTerminating,
        False,
        ("being terminated",),
    ),
    (
        "webhook-denied",
        f'{INSTALL}{APPLY}/v1, Kind=ConfigMap: admission webhook "good.example.com" denied the request: no image '
        "from there\n",
        Invalid,
        True,
        ("no image from there",),
    ),
    (
        "policy-denied",
        f"{INSTALL}{APPLY}/v1, Kind=ConfigMap: configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with "
        "binding 'p' denied request: name must not be x\n",
        Invalid,
        True,
        ("name must not be x",),
    ),
    (
        "deployer-policy-denied",
        f'{INSTALL}{APPLY}/v1, Kind=RoleBinding: rolebindings.rbac.authorization.k8s.io "x" is forbidden: '
        "ValidatingAdmissionPolicy 'deployer.xapp-operator.io' with binding 'deployer.xapp-operator.io' denied "
        "request: a RoleBinding of a chart may name only service accounts\n",
        AccessDenied,
        True,
        ("may name only service accounts",),
    ),
    (
        "webhook-away",
        f'{INSTALL}{APPLY}/v1, Kind=ConfigMap: Internal error occurred: failed calling webhook "dead.example.com": '
        'failed to call webhook: Post "https://127.0.0.1:1/v?timeout=2s": dial tcp 127.0.0.1:1: connect: connection '
        "refused\n",
        ApiUnavailable,
        False,
        ("dead.example.com",),
    ),
    (
        "api-server-away",
        'level=ERROR msg="cluster reachability check failed: kubernetes cluster unreachable: Get '
        '\\"https://127.0.0.1:1/version\\": dial tcp 127.0.0.1:1: connect: connection refused"\n'
        f"{INSTALL}cluster reachability check failed: kubernetes cluster unreachable: Get "
        '"https://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused\n',
        ApiUnavailable,
        False,
        ("kubernetes cluster unreachable",),
    ),
    (
        "credentials",
        f"{INSTALL}cluster reachability check failed: kubernetes cluster unreachable: the server has asked for the "
        "client to provide credentials\n",
        ApiUnavailable,
        False,
        ("provide credentials",),
    ),
    (
        "ownership",
        f'{INSTALL}unable to continue with install: ConfigMap "own" in namespace "ric" exists and cannot be imported '
        'into the current release: invalid ownership metadata; label validation error: missing key "'
        'app.kubernetes.io/managed-by": must be set to "Helm"; annotation validation error: missing key '
        '"meta.helm.sh/release-name": must be set to "own"\n',
        HelmError,
        True,
        ('ConfigMap "own" in namespace "ric"', "adopt: true"),
    ),
    (
        "name-in-use",
        'level=ERROR msg="release name check failed" error="cannot reuse a name that is still in use"\n'
        f"{INSTALL}release name check failed: cannot reuse a name that is still in use\n",
        HelmError,
        False,
        ("cannot reuse a name that is still in use",),
    ),
    (
        "pending",
        f"{UPGRADE}another operation (install/upgrade/rollback) is in progress\n",
        HelmError,
        False,
        ("another operation",),
    ),
    ("no-release", f'{UPGRADE}"x" has no deployed releases\n', HelmError, False, ("no deployed releases",)),
    ("no-revision", "Error: release has no 7 version\n", HelmError, True, ("no 7 version",)),
    (
        "immutable",
        'level=WARN msg="upgrade failed" name=x error="server-side apply failed"\n'
        f'{UPGRADE}{APPLY}apps/v1, Kind=Deployment: Deployment.apps "x" is invalid: spec.selector: Invalid value: '
        '{"matchLabels":{"app":"two"}}: field is immutable\n',
        Invalid,
        True,
        ("spec.selector: Invalid value: field is immutable", "create it again"),
    ),
    (
        "refused-by-validation",
        f'{INSTALL}{APPLY}/v1, Kind=Service: Service "x" is invalid: [spec.ports[0].port: Invalid value: 99999999: '
        "must be between 1 and 65535, inclusive]\n",
        Invalid,
        True,
        ("spec.ports[0].port: Invalid value: must be between 1 and 65535",),
    ),
    (
        "item-that-somebody-replaced",
        f'{UPGRADE}{APPLY}/v1, Kind=Service: Service "x" is invalid: spec.ports[1].name: Duplicate value: "http"\n',
        Invalid,
        True,
        ("spec.ports[1].name: Duplicate value", "If somebody changed that object by hand, undo that"),
    ),
    (
        "item-with-a-node-port-that-somebody-replaced",
        f"{UPGRADE}{APPLY}/v1, Kind=Service: duplicate nodePort: {{TCP 30080}}\n",
        Invalid,
        True,
        ("duplicate nodePort", "If somebody changed that object by hand, undo that"),
    ),
    (
        "unknown-field",
        f"{INSTALL}{APPLY}/v1, Kind=Service: failed to create typed patch object (ric/x; /v1, Kind=Service): "
        ".spec.nope: field not declared in schema\n",
        Invalid,
        True,
        (".spec.nope",),
    ),
    (
        "no-quantity",
        f"{INSTALL}{APPLY}/v1, Kind=Pod: failed to convert new object (ric/x; /v1, Kind=Pod) to proper version: unable "
        "to convert unstructured object to /v1, Kind=Pod: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\n",
        Invalid,
        True,
        ("quantities must match", "Fix the values or the chart"),
    ),
    (
        "unknown-field-of-a-hook",
        f"{INSTALL}failed pre-install: warning: Hook pre-install hello/templates/a.yaml failed: {APPLY}batch/v1, "
        "Kind=Job: failed to create typed patch object (ric/x; batch/v1, Kind=Job): .spec.nope: field not declared in "
        "schema\n",
        Invalid,
        True,
        (".spec.nope",),
    ),
    (
        "release-too-large",
        f'{INSTALL}create: failed to create: Secret "sh.helm.release.v1.big.v1" is invalid: data: Too long: may not '
        "be more than 1048576 bytes\n",
        ReleaseTooLarge,
        True,
        ("1 MiB",),
    ),
    (
        "object-too-large",
        f'{INSTALL}{APPLY}/v1, Kind=ConfigMap: ConfigMap "big" is invalid: []: Too long: may not be more than 1048576 '
        "bytes\n",
        Invalid,
        True,
        ("an object of the chart is larger",),
    ),
    (
        "request-too-large",
        f"{INSTALL}{APPLY}/v1, Kind=ConfigMap: Request entity too large: limit is 3145728\n",
        Invalid,
        True,
        ("an object of the chart is larger",),
    ),
    (
        "missing-kind",
        f"{INSTALL}unable to build kubernetes objects from release manifest: resource mapping not found for name: "
        '"a" namespace: "" from "": no matches for kind "Foo" in version "foo.io/v1"\n'
        "ensure CRDs are installed first\n",
        KindNotServed,
        False,
        ("kind Foo of foo.io/v1", "CustomResourceDefinition"),
    ),
    (
        "missing-kind-of-the-revision-in-force",
        "Error: UPGRADE FAILED: unable to build kubernetes objects from current release manifest: resource mapping not "
        'found for name: "a" namespace: "" from "": no matches for kind "Foo" in version "foo.io/v1"\n',
        KindNotServed,
        False,
        ("kind Foo of foo.io/v1, which the revision in force has: install its CustomResourceDefinition",),
    ),
    (
        "missing-kind-of-the-new-manifest",
        "Error: UPGRADE FAILED: unable to build kubernetes objects from new release manifest: resource mapping not "
        'found for name: "a" namespace: "" from "": no matches for kind "Foo" in version "foo.io/v1"\n',
        KindNotServed,
        False,
        ("kind Foo of foo.io/v1, which the new manifest has", "only once", "CustomResourceDefinition"),
    ),
    (
        "missing-kind-at-uninstall",
        'level=DEBUG msg="uninstall: Failed to delete release" error="[unable to build kubernetes objects for delete: '
        'resource mapping not found for name: \\"w\\" namespace: \\"\\" from \\"\\": no matches for kind \\"Widget\\" '
        'in version \\"h.example.com/v1\\"\\nensure CRDs are installed first]"\nError: failed to delete release: x\n',
        KindNotServed,
        False,
        ("kind Widget of h.example.com/v1",),
    ),
    (
        "hook-failed",
        f"{INSTALL}failed pre-install: resource Job/ric/x-pre not ready. status: Failed, message: Job Failed. failed: "
        "1/1\n",
        HookFailed,
        False,
        ("hook Job ric/x-pre failed (Job Failed. failed: 1/1)",),
    ),
    (
        "hook-timeout",
        f"{INSTALL}failed pre-install: resource Job/ric/x-pre not ready. status: InProgress, message: Job in "
        "progress\ncontext deadline exceeded\n",
        HelmTimeout,
        False,
        ("hook Job ric/x-pre did not finish",),
    ),
    ("namespace-missing", f'{INSTALL}{APPLY}/v1: namespaces "no" not found\n', HelmError, False, ('"no" not found',)),
    (
        "parse-error",
        "Error: parse error at (hello/templates/a.yaml:3): unclosed action started at hello/templates/a.yaml:2"
        + DEBUG_HINT,
        ChartInvalid,
        True,
        ("template hello/templates/a.yaml does not parse, line 3: unclosed action",),
    ),
    (
        "unknown-function",
        f'{INSTALL}parse error at (hello/templates/a.yaml:2): function "nosuch" not defined\n',
        ChartInvalid,
        True,
        ("hello/templates/a.yaml", "line 2", '"nosuch"'),
    ),
    (
        "rendered-no-yaml",
        "Error: YAML parse error on hello/templates/a.yaml: error converting YAML to JSON: yaml: mapping values are "
        "not allowed in this context" + DEBUG_HINT,
        ChartInvalid,
        True,
        ("template hello/templates/a.yaml renders invalid YAML",),
    ),
    (
        "fail",
        f"{INSTALL}execution error at (hello/templates/a.yaml:1:6): you must set x\n",
        ValuesInvalid,
        True,
        ("hello/templates/a.yaml:1:6", "you must set x"),
    ),
    (
        "nil-pointer",
        f'{INSTALL}hello/templates/a.yaml:1:13\n  executing "hello/templates/a.yaml" at <.Values.x.y.z>:\n    nil '
        "pointer evaluating interface {}.y\n",
        ChartInvalid,
        True,
        ("nil pointer evaluating interface {}.y",),
    ),
    (
        "kube-version",
        "Error: chart requires kubeVersion: >=1.99 which is incompatible with Kubernetes v1.36.3" + DEBUG_HINT,
        ChartInvalid,
        True,
        (">=1.99",),
    ),
    (
        "dependencies",
        "Error: an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' "
        "to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: sub\n",
        ChartInvalid,
        True,
        ("missing in charts/ directory: sub",),
    ),
    ("library", "Error: library charts are not installable\n", ChartInvalid, True, ("library",)),
    (
        "broken-values-yaml",
        "Error: cannot load values.yaml: cannot unmarshal yaml document: error converting YAML to JSON: yaml: line 1: "
        "did not find expected node content\n",
        ChartInvalid,
        True,
        ("values.yaml",),
    ),
    ("damaged-archive", "Error: unable to load chart archive\n", ChartInvalid, True, ("chart archive",)),
    (
        "no-archive",
        "Error: file '/cache/x.tgz' does not appear to be a gzipped archive; got 'application/octet-stream'\n",
        ChartInvalid,
        True,
        ("gzipped archive",),
    ),
    (
        "endless",
        "Error: template: a.yaml:1:48: "
        + 'executing "r" at <include "r" .>: error calling include: ' * 1000
        + "rendering template has a nested reference name: r: unable to execute template"
        + DEBUG_HINT,
        ChartInvalid,
        True,
        ("without end",),
    ),
    (
        "bad-release-name",
        'level=ERROR msg="release name check failed" error="release name \\"Bad_Name\\": invalid release name, must '
        "match regex ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be "
        'longer than 53"\n'
        f'{INSTALL}release name check failed: release name "Bad_Name": invalid release name, must match regex '
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be longer than "
        "53\n",
        HelmError,
        True,
        ('"Bad_Name": invalid release name',),
    ),
    ("cancelled", f"{INSTALL}context canceled\n", HelmError, False, ("context canceled",)),
    ("silence", "", HelmError, False, ("without a message",)),
]


@pytest.mark.parametrize(
    ("stderr", "kind", "permanent", "parts"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_helm_messages_become_their_errors(
    stderr: str, kind: type[XAppError], *, permanent: bool, parts: tuple[str, ...]
) -> None:
    error = error_from_stderr(stderr, uninstall="failed to delete release" in stderr)
    assert type(error) is kind
    assert error.permanent is permanent
    for part in parts:
        assert part in error.message


def test_a_hook_whose_object_is_refused_is_no_warning() -> None:
    cause = f"{APPLY}/v1, Kind=Pod: failed to create typed patch object (ric/x; /v1, Kind=Pod): .spec.nope: no field"
    for step in ("Error: ", f"{INSTALL}failed pre-install: "):
        message = error_from_stderr(f"{step}warning: Hook test hello/templates/a.yaml failed: {cause}\n").message
        assert "Hook test hello/templates/a.yaml failed: " in message
        assert "warning" not in message


def test_the_log_of_a_hook_cannot_pose_as_the_error() -> None:
    log = 'level=DEBUG msg="uninstall: Failed to delete release" error="[from a pod]"\nError: from a pod, too\n'
    error = error_from_stderr(f"{log}Error: resource Pod/ric/x not ready. status: Failed, message: Error\n")
    assert type(error) is HookFailed
    assert "from a pod" not in error.message


def test_secrets_of_the_values_and_local_paths_are_not_passed_on() -> None:
    stderr = f"{INSTALL}execution error at (a.yaml:1:6): cannot use s3cr3t from /var/lib/cache/charts/x.tgz here\n"
    message = error_from_stderr(stderr, secrets=["s3cr3t"]).message
    assert "s3cr3t" not in message
    assert "/var/lib" not in message


def test_a_mask_that_hides_what_an_error_is_known_by_does_not_change_its_class() -> None:
    stderr = 'Error: admission webhook "good.example.com" denied the request: no s3cr3t\n'
    error = error_from_stderr(stderr, secrets=["s3cr3t", "webhook"])
    assert (type(error), error.permanent) == (Invalid, True)
    assert error.message == f'admission {MASK} "good.example.com" denied the request: no {MASK}'


def test_a_message_that_is_withheld_keeps_its_class() -> None:
    stderr = 'Error: admission webhook "good.example.com" denied the request: no s3cr3t\n'
    error = error_from_stderr(stderr, withheld="the API server does not answer")
    assert (type(error), error.permanent) == (Invalid, True)
    assert error.message == f"{WITHHELD_UNREAD}the API server does not answer"
    assert error_from_stderr("Error: no s3cr3t\n", withheld="no").message == f"{WITHHELD_UNREAD}no"


def test_the_cause_of_a_withheld_message_is_not_taken_for_that_of_helm() -> None:
    why = 'secrets is forbidden: User "operator" cannot get resource "secrets" in API group "" in the namespace "ric"'
    stderr = f"Error: {why.replace('operator', 'deployer')}\n"
    error = error_from_stderr(stderr, withheld=why)
    assert (type(error), error.message) == (AccessDenied, f"{WITHHELD_UNREAD}{why}")


def test_a_long_error_is_trimmed() -> None:
    assert len(error_from_stderr(f"Error: {'x' * 100_000}").message) <= 2000


def test_release_not_found_differs_from_a_missing_permission() -> None:
    assert is_release_not_found("Error: uninstall: Release not loaded: x: release: not found\n")
    assert is_release_not_found('level=DEBUG msg="getting release history" name=x\nError: release: not found\n')
    assert not is_release_not_found(
        "Error: uninstall: Release not loaded: x: query: failed to query with labels: secrets is forbidden: User "
        '"u" cannot list resource "secrets" in API group "" in the namespace "ric"\n'
    )


@pytest.mark.parametrize(
    "stderr",
    [
        "Error: execution error at (hello/templates/a.yaml:1:6): you must set x" + DEBUG_HINT,
        'Error: hello/templates/a.yaml:1:13\n  executing "hello/templates/a.yaml" at <.Values.x.y.z>:\n    nil pointer '
        "evaluating interface {}.y" + DEBUG_HINT,
        'Error: template: hello/templates/a.yaml:1:3: executing "hello/templates/a.yaml" at <index .Values "a" 3>: '
        "error calling index: index out of range: 3" + DEBUG_HINT,
        'Error: hello/templates/a.yaml:2:3\n  executing "hello/templates/a.yaml" at <include "nosuch" .>:\n    error '
        'calling include:\ntemplate: no template "nosuch" associated with template "gotpl"' + DEBUG_HINT,
    ],
)
def test_templates_that_fail_while_they_run_are_recognised(stderr: str) -> None:
    assert template_stop_reason(stderr)


@pytest.mark.parametrize(
    "stderr",
    [
        "Error: parse error at (hello/templates/a.yaml:3): unclosed action" + DEBUG_HINT,
        "Error: YAML parse error on hello/templates/a.yaml: error converting YAML to JSON" + DEBUG_HINT,
        'Error: template: a.yaml:1:48: executing "a.yaml" at <include "r" .>: error calling include: rendering '
        "template has a nested reference name: r: unable to execute template" + DEBUG_HINT,
        "",
    ],
)
def test_other_failures_are_not_template_errors(stderr: str) -> None:
    assert template_stop_reason(stderr) is None
