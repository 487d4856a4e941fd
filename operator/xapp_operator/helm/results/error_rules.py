"""From what helm prints to the error tree of this package. Pure.

The first rule that matches wins. Anything else is a HelmError that is not permanent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from xapp_operator.errors import (
    AccessDenied,
    ApiUnavailable,
    ChartInvalid,
    Conflict,
    HelmError,
    HelmTimeout,
    HookFailed,
    Invalid,
    KindNotServed,
    NamespaceTerminating,
    QuotaExceeded,
    ReleaseRecordDamaged,
    ReleaseTooLarge,
    ValuesInvalid,
    XAppError,
)
from xapp_operator.helm.results.schema_errors import schema_error
from xapp_operator.helm.results.stderr import WITHHELD_UNREAD, error_text, presentable_message
from xapp_operator.kube.api_errors import ADMISSION_NOT_READY, IMPERSONATION_HINT

NOT_OF_THE_RELEASE: Final = (
    "{object} exists and belongs to no release or to another one: set adopt: true to take it over, or remove "
    "or rename it"
)
"""Why helm does not install or upgrade."""

_ErrorFactory: TypeAlias = Callable[[re.Match[str], str], XAppError]

_RELEASE_NOT_FOUND: Final = re.compile(r"release: not found$")
_EXECUTION_ERROR: Final = re.compile(r"execution error (?:at|in) \((?P<where>[^()]*+)\): (?P<what>.*)", re.DOTALL)
_TEMPLATE_FAILURE: Final = re.compile(
    r"executing \"[^\"]*\" at <|no template \"[^\"]*\" associated with template", re.DOTALL
)
_OWNERS_OF_KINDS: Final = {
    "from current release manifest": ", which the revision in force has",
    "from new release manifest": ", which the new manifest has (helm installs the folder crds of a chart only once)",
}
_RECORD_STEP: Final = re.compile(r"(?:create|update): failed to (?:create|update): ")
_FORBIDDEN: Final = re.compile(
    r"User \"(?P<user>[^\"]*)\" cannot (?P<verb>\S+) resource \"(?P<resource>[^\"]*)\" in API group "
    r"\"(?P<group>[^\"]*)\" (?:in the namespace \"(?P<namespace>[^\"]*)\"|at the cluster scope)"
)
_LOOKUP_FAILURE: Final = "error calling lookup: "
_ENDLESS_INCLUDE: Final = "rendering template has a nested reference name"


def error_from_stderr(
    stderr: str, *, chart: str = "", secrets: Iterable[str] = (), withheld: str = "", uninstall: bool = False
) -> XAppError:
    """Return the error that helm's standard error reports.

    `chart` is the name of the chart, for paths of its subcharts' values. `secrets` are texts of the values that the
    error must not contain. With `withheld`, which tells why they are not known, it contains nothing that helm says; its
    class and whether it is permanent stay. `uninstall` tells that the command was `helm uninstall`.
    """
    raw = error_text(stderr, uninstall=uninstall)
    refused = schema_error(raw, chart=chart)
    if refused is not None:
        return refused
    message = presentable_message(raw)
    shown = f"{WITHHELD_UNREAD}{withheld}" if withheld else presentable_message(raw, secrets=secrets)
    for pattern, make in _ERROR_RULES:
        if matched := pattern.search(message):
            error = make(matched, message)
            if withheld:
                return type(error)(shown, permanent=error.permanent)
            return error if shown == message else _with_shown(error, shown, pattern, make)
    return HelmError(shown or "helm failed without a message")


def _with_shown(error: XAppError, shown: str, pattern: re.Pattern[str], make: _ErrorFactory) -> XAppError:
    """Return `error` about the message as it is `shown`; a mask may hide what its pattern looks for."""
    matched = pattern.search(shown)
    text = make(matched, shown).message if matched else shown
    return type(error)(text, permanent=error.permanent)


def is_release_not_found(stderr: str) -> bool:
    return _RELEASE_NOT_FOUND.search(error_text(stderr)) is not None


def user_refusal(stderr: str, *, secrets: Iterable[str] = ()) -> AccessDenied | None:
    """Return the error of a dry run whose user may not read something, or None if it failed for another reason."""
    raw = error_text(stderr)
    matched = _FORBIDDEN.search(presentable_message(raw, secrets=secrets))
    if matched is None:
        return None
    reason = "a template uses lookup, and " if _LOOKUP_FAILURE in raw else ""
    return AccessDenied(f"{reason}{_forbidden(matched, who='you')}")


def template_stop_reason(stderr: str, *, secrets: Iterable[str] = ()) -> str | None:
    """Return why a template stopped while it ran (`fail`, `required`, a missing field), or None if none did.

    On a cluster it may not stop: without one, `lookup` finds nothing.
    """
    raw = error_text(stderr)
    if _ENDLESS_INCLUDE in raw or not (_EXECUTION_ERROR.search(raw) or _TEMPLATE_FAILURE.search(raw)):
        return None
    return presentable_message(raw, secrets=secrets)


def _error(kind: type[XAppError], text: str = "{message}", *, permanent: bool | None = None) -> _ErrorFactory:
    """Return what makes an error of `text`, in which helm's message and the groups of the pattern are filled in."""

    def make(matched: re.Match[str], message: str) -> XAppError:
        return kind(text.format(message=message, **matched.groupdict(default="unknown")), permanent=permanent)

    return make


def _access_denied(matched: re.Match[str], _: str) -> XAppError:
    mend = IMPERSONATION_HINT if matched["verb"] == "impersonate" else "grant that permission, then request a retry"
    return AccessDenied(f"{_forbidden(matched, who=matched['user'])}: {mend}")


def _forbidden(matched: re.Match[str], *, who: str) -> str:
    group = f" of API group {matched['group']}" if matched["group"] else ""
    where = f"in namespace {matched['namespace']}" if matched["namespace"] else "at the cluster scope"
    return f"{who} may not {matched['verb']} {matched['resource']}{group} {where}"


def _kind_not_served(matched: re.Match[str], message: str) -> XAppError:
    whose = next((text for start, text in _OWNERS_OF_KINDS.items() if start in message), "")
    return KindNotServed(
        f"the cluster does not serve kind {matched['kind']} of {matched['version']}{whose}: install its "
        "CustomResourceDefinition"
    )


def _object_too_large(_: re.Match[str], message: str) -> XAppError:
    if "sh.helm.release.v1." in message or _RECORD_STEP.match(message):
        return ReleaseTooLarge(
            "the release is too large: Helm keeps chart, values and manifest in one Secret of at most 1 MiB. "
            "Make the chart archive (about 750 KiB at most) or the values smaller"
        )
    return Invalid(f"an object of the chart is larger than the API server allows: {message}")


def _hook_failure(matched: re.Match[str], _: str) -> XAppError:
    what = f"hook {matched['kind']} {matched['namespace']}/{matched['name']}"
    if "context deadline exceeded" in matched["rest"]:
        return HelmTimeout(
            f"{what} did not finish within the timeout ({matched['status']}): check its pods, or raise spec.timeout"
        )
    return HookFailed(f"{what} failed ({matched['rest'].strip()}): check the logs of its pods")


_FIX_VALUES_OR_CHART: Final = "Fix the values or the chart"
_REFUSED_BY_ADMISSION: Final = f"{{message}}. Admission control of this cluster refuses it. {_FIX_VALUES_OR_CHART}"

# The message is on one line. The order matters: a hook or a webhook may quote any of the later texts.
_ERROR_RULES: Final = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (
            r"parse error (?:at|in) \((?P<file>[^:()]++)(?::(?P<line>\d+))?(?::\d+)?\): (?P<what>.*)",
            _error(ChartInvalid, "template {file} does not parse, line {line}: {what}. Fix the template"),
        ),
        (
            r"YAML parse error on (?P<file>\S+): (?P<what>.*)",
            _error(ChartInvalid, "template {file} renders invalid YAML: {what}. Fix the template or its values"),
        ),
        (
            _EXECUTION_ERROR.pattern,
            _error(ValuesInvalid, "the chart refuses the values at {where}: {what}. Fix the values"),
        ),
        (_ENDLESS_INCLUDE, _error(ChartInvalid, "{message}. A template includes itself without end: fix the chart")),
        (
            _TEMPLATE_FAILURE.pattern,
            _error(ChartInvalid, f"{{message}}. The templates fail with these values. {_FIX_VALUES_OR_CHART}"),
        ),
        (
            r"chart requires kubeVersion|checking for chart dependencies|charts are not installable|"
            r"cannot load |chart dependencies processing failed|does not appear to be a gzipped archive|"
            r"unable to load chart archive|"
            r"chart metadata is missing|validation: chart\.|invalid chart apiVersion|conflicting definitions|"
            r"failed to install CRD \S+: (?!.*forbidden)",
            _error(ChartInvalid),
        ),
        (
            r"Too long: may not be more than \d+ bytes|[Rr]equest entity too large|request is too large",
            _object_too_large,
        ),
        (r"because it is being terminated", _error(NamespaceTerminating)),
        (r"exceeded quota", _error(QuotaExceeded, "{message}. Raise the ResourceQuota or request less")),
        (r"ValidatingAdmissionPolicy 'deployer\.xapp-operator\.io'", _error(AccessDenied)),
        (
            r"admission webhook \S+ denied the request|denied request: |violates PodSecurity",
            _error(Invalid, _REFUSED_BY_ADMISSION),
        ),
        (_FORBIDDEN.pattern, _access_denied),
        (
            r"attempting to grant RBAC permissions not currently held|"
            r" is forbidden: (?:[Uu]ser \"|cannot set blockOwnerDeletion|unable to validate against any security)",
            _error(AccessDenied, "{message}. Grant the service account that permission, then request a retry"),
        ),
        (ADMISSION_NOT_READY.pattern, _error(ApiUnavailable)),
        (
            r" is forbidden: error looking up service account ",
            _error(HelmError, "{message}. Create the service account, or name another one in the values"),
        ),
        (
            r" is forbidden: ",
            _error(Invalid, _REFUSED_BY_ADMISSION),
        ),
        (
            r"\b(?P<object>\w++ \"[^\"]*\" in namespace \"[^\"]*\") exists and cannot be imported into the current "
            r"release",
            _error(HelmError, NOT_OF_THE_RELEASE, permanent=True),
        ),
        (
            r"no matches for kind \"(?P<kind>[^\"]*)\" in version \"(?P<version>[^\"]*)\"",
            _kind_not_served,
        ),
        (
            r"release: already exists|no revision for release|no release provided",
            _error(
                ReleaseRecordDamaged,
                "helm cannot read a record of this release, a Secret with a name that begins with sh.helm.release.v1: "
                "restore it from a backup or remove it, then request a retry ({message})",
            ),
        ),
        (r"another operation \(install/upgrade/rollback\) is in progress", _error(HelmError)),
        (
            r"failed calling webhook|Internal error occurred|cluster unreachable|connection refused|connection reset|"
            r"i/o timeout|TLS handshake timeout|no such host|net/http: request canceled|server is currently unable|"
            r"etcdserver: |the server was unable to return a response|too many requests|ServiceUnavailable|EOF$|"
            r"provide credentials|client rate limiter",
            _error(ApiUnavailable),
        ),
        (
            r"the object has been modified|Apply failed with \d+ conflict|Operation cannot be fulfilled",
            _error(Conflict),
        ),
        (
            r"resource (?P<kind>[A-Z]\w*)/(?P<namespace>[^/\s]*)/(?P<name>\S+) not ready\. status: (?P<status>\w+),? ?"
            r"(?:message: )?(?P<rest>.*)",
            _hook_failure,
        ),
        (
            r"field is immutable",
            _error(Invalid, "{message}. Keep the old value, or delete the XApp and create it again"),
        ),
        (
            r": Duplicate value|duplicate nodePort: ",
            _error(
                Invalid,
                f"{{message}}. If somebody changed that object by hand, undo that, then request a retry. "
                f"{_FIX_VALUES_OR_CHART} otherwise",
            ),
        ),
        (
            r" is invalid: |failed to create typed patch object|field not declared in schema|unknown field|"
            r"error validating data|strict decoding error|cannot be handled as a|Object 'Kind' is missing|"
            r"apiVersion not set|unable to convert unstructured object",
            _error(Invalid, f"{{message}}. The cluster refuses an object of the chart. {_FIX_VALUES_OR_CHART}"),
        ),
        (
            r"resource name may not be empty$",
            _error(ChartInvalid, "{message}. Helm needs a name for each object: replace generateName by name"),
        ),
        (r"invalid release name|release name is invalid", _error(HelmError, permanent=True)),
        (
            r"release has no \d+ version",
            _error(HelmError, "{message}. Choose a revision of the history", permanent=True),
        ),
        (r"context deadline exceeded|timed out waiting", _error(HelmTimeout)),
    )
)
