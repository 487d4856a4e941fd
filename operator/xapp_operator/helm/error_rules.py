"""From what helm printed to the error tree of this package. Pure: text in, error out, table-tested with real texts.

Lives in `helm` so that no layer above reads helm's sentences. The rules are asked in order, the first that knows the
text answers; what no rule knows is a passing HelmError. `permanent` says that trying again without a change is no use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from xapp_operator.errors import (
    AccessDenied,
    ApiUnavailable,
    ChartInvalid,
    Conflict,
    HelmError,
    HelmTimeout,
    Invalid,
    KindNotServed,
    NamespaceTerminating,
    QuotaExceeded,
    ReleaseTooLarge,
    ValuesInvalid,
    XAppError,
)
from xapp_operator.helm.schema_errors import schema_error
from xapp_operator.helm.stderr import error_text, presentable_message

_ErrorFactory: TypeAlias = Callable[[re.Match[str], str], XAppError]

RELEASE_NOT_FOUND: Final = re.compile(r"release: not found$")
_EXECUTION_ERROR: Final = re.compile(r"execution error (?:at|in) \((?P<where>[^)]*)\): (?P<what>.*)", re.DOTALL)
_TEMPLATE_FAILURE: Final = re.compile(
    r"executing \"[^\"]*\" at <|no template \"[^\"]*\" associated with template", re.DOTALL
)
_ENDLESS_INCLUDE: Final = "rendering template has a nested reference name"


def error_from_stderr(stderr: str, *, chart: str = "", secrets: Iterable[str] = ()) -> XAppError:
    """Return the error that helm's standard error `stderr` tells of.

    `chart` is the name of the chart, for paths of its subcharts' values. `secrets` are texts of the values that
    must not be passed on.
    """
    raw = error_text(stderr)
    refused = schema_error(raw, chart=chart)
    if refused is not None:
        return refused
    message = presentable_message(raw, secrets=secrets)
    for rule in _ERROR_RULES:
        if matched := rule.pattern.search(message):
            return rule.make(matched, message)
    return HelmError(message or "helm failed without a word")


def is_release_not_found(stderr: str) -> bool:
    """Return whether helm says that there is no such release."""
    return RELEASE_NOT_FOUND.search(error_text(stderr)) is not None


def template_stop_reason(stderr: str, *, secrets: Iterable[str] = ()) -> str | None:
    """Return why the templates stopped while they ran (`fail`, `required`, a missing field), or None if they did not.

    Without a cluster `lookup` finds nothing, so that this need not happen on the cluster.
    """
    raw = error_text(stderr)
    if _ENDLESS_INCLUDE in raw or not (_EXECUTION_ERROR.search(raw) or _TEMPLATE_FAILURE.search(raw)):
        return None
    return presentable_message(raw, secrets=secrets)


@dataclass(frozen=True, slots=True)
class _ErrorRule:
    pattern: re.Pattern[str]
    make: _ErrorFactory


def _error_rule(pattern: str, make: _ErrorFactory) -> _ErrorRule:
    return _ErrorRule(re.compile(pattern), make)


def _template_parse_error(matched: re.Match[str], _: str) -> XAppError:
    return ChartInvalid(
        f"template {matched['file']} does not parse, line {matched['line']}: {matched['what']}; mend the template"
    )


def _rendered_yaml_error(matched: re.Match[str], _: str) -> XAppError:
    return ChartInvalid(
        f"template {matched['file']} renders what is not YAML: {matched['what']}; mend the template or its values"
    )


def _chart_refusal(matched: re.Match[str], _: str) -> XAppError:
    return ValuesInvalid(f"the chart refuses the values at {matched['where']}: {matched['what']}; mend the values")


def _access_denied(matched: re.Match[str], _: str) -> XAppError:
    group = f" of API group {matched['group']}" if matched["group"] else ""
    where = f"in namespace {matched['namespace']}" if matched["namespace"] else "at the cluster scope"
    what = f"{matched['resource']}{group}"
    return AccessDenied(
        f"{matched['user']} may not {matched['verb']} {what} {where}: grant it that verb there, then ask for a retry"
    )


def _foreign_object(matched: re.Match[str], _: str) -> XAppError:
    return HelmError(
        f"{matched['object']} exists and belongs to no release or to another one: set adopt: true to take it over, "
        "or remove or rename it",
        permanent=True,
    )


def _kind_not_served(matched: re.Match[str], _: str) -> XAppError:
    return KindNotServed(
        f"the cluster does not serve kind {matched['kind']} of {matched['version']}: install the "
        "CustomResourceDefinition that it belongs to"
    )


def _object_too_large(matched: re.Match[str], message: str) -> XAppError:
    if "sh.helm.release.v1." in message or matched["step"]:
        return ReleaseTooLarge(
            "the release is too large: Helm keeps chart, values and manifest in one Secret of at most 1 MiB; "
            "make the chart archive (about 750 KiB at most) or the values smaller"
        )
    return Invalid(f"an object of the chart is larger than the API server takes: {message}")


def _hook_failure(matched: re.Match[str], _: str) -> XAppError:
    what = f"hook {matched['kind']} {matched['namespace']}/{matched['name']}"
    if "context deadline exceeded" in matched["rest"]:
        return HelmTimeout(
            f"{what} did not finish within the timeout ({matched['status']}): look at its pods, or raise spec.timeout"
        )
    return HelmError(f"{what} failed ({matched['rest'].strip()}): look at the logs of its pods")


def _error_of(kind: type[XAppError], advice: str = "", *, permanent: bool | None = None) -> _ErrorFactory:
    def make(_: re.Match[str], message: str) -> XAppError:
        return kind(f"{message}; {advice}" if advice else message, permanent=permanent)

    return make


# Presentable texts are on one line. The order matters: a hook or a webhook may quote any of the later ones.
_ERROR_RULES: Final = (
    _error_rule(
        r"parse error (?:at|in) \((?P<file>[^:)]+)(?::(?P<line>\d+))?(?::\d+)?\): (?P<what>.*)", _template_parse_error
    ),
    _error_rule(r"YAML parse error on (?P<file>\S+): (?P<what>.*)", _rendered_yaml_error),
    _error_rule(_EXECUTION_ERROR.pattern, _chart_refusal),
    _error_rule(_ENDLESS_INCLUDE, _error_of(ChartInvalid, "a template includes itself without end: mend the chart")),
    _error_rule(
        _TEMPLATE_FAILURE.pattern,
        _error_of(ChartInvalid, "the templates fail with these values: mend the values or the chart"),
    ),
    _error_rule(
        r"chart requires kubeVersion|checking for chart dependencies|charts are not installable|"
        r"cannot load |chart dependencies processing failed|does not appear to be a gzipped archive|"
        r"unable to load chart archive|"
        r"chart metadata is missing|validation: chart\.|invalid chart apiVersion|conflicting definitions|"
        r"failed to install CRD \S+: (?!.*forbidden)",
        _error_of(ChartInvalid),
    ),
    _error_rule(
        r"(?P<step>(?:create|update): failed to (?:create|update): )?.*"
        r"(?:Too long: may not be more than \d+ bytes|[Rr]equest entity too large|request is too large)",
        _object_too_large,
    ),
    _error_rule(r"because it is being terminated", _error_of(NamespaceTerminating)),
    _error_rule(r"exceeded quota", _error_of(QuotaExceeded, "raise the ResourceQuota or ask for less")),
    _error_rule(
        r"admission webhook \S+ denied the request|denied request: |violates PodSecurity",
        _error_of(Invalid, "admission of this cluster refuses it: mend the values or the chart"),
    ),
    _error_rule(
        r"User \"(?P<user>[^\"]*)\" cannot (?P<verb>\S+) resource \"(?P<resource>[^\"]*)\" in API group "
        r"\"(?P<group>[^\"]*)\" (?:in the namespace \"(?P<namespace>[^\"]*)\"|at the cluster scope)",
        _access_denied,
    ),
    _error_rule(
        r"attempting to grant RBAC permissions not currently held| is forbidden: ",
        _error_of(AccessDenied, "grant the service account that right, then ask for a retry"),
    ),
    _error_rule(
        r"(?P<object>\w+ \"[^\"]*\" in namespace \"[^\"]*\") exists and cannot be imported into the current release",
        _foreign_object,
    ),
    _error_rule(r"no matches for kind \"(?P<kind>[^\"]*)\" in version \"(?P<version>[^\"]*)\"", _kind_not_served),
    _error_rule(r"another operation \(install/upgrade/rollback\) is in progress", _error_of(HelmError)),
    _error_rule(
        r"failed calling webhook|Internal error occurred|cluster unreachable|connection refused|connection reset|"
        r"i/o timeout|TLS handshake timeout|no such host|net/http: request canceled|server is currently unable|"
        r"etcdserver: |the server was unable to return a response|too many requests|ServiceUnavailable|EOF$|"
        r"provide credentials|client rate limiter",
        _error_of(ApiUnavailable),
    ),
    _error_rule(
        r"(?:the object has been modified|Apply failed with \d+ conflict|Operation cannot be fulfilled)",
        _error_of(Conflict),
    ),
    _error_rule(
        r"resource (?P<kind>[A-Z]\w*)/(?P<namespace>[^/\s]*)/(?P<name>\S+) not ready\. status: (?P<status>\w+),? ?"
        r"(?:message: )?(?P<rest>.*)",
        _hook_failure,
    ),
    _error_rule(
        r"field is immutable", _error_of(Invalid, "remove the XApp and create it again, or keep the old value")
    ),
    _error_rule(
        r" is invalid: |failed to create typed patch object|field not declared in schema|unknown field|"
        r"error validating data|strict decoding error|cannot be handled as a|Object 'Kind' is missing|"
        r"apiVersion not set",
        _error_of(Invalid, "the cluster refuses an object of the chart: mend the values or the chart"),
    ),
    _error_rule(r"invalid release name|release name is invalid", _error_of(HelmError, permanent=True)),
    _error_rule(
        r"release has no \d+ version", _error_of(HelmError, "choose a revision of the history", permanent=True)
    ),
    _error_rule(r"context deadline exceeded|timed out waiting", _error_of(HelmTimeout)),
)
