"""The error tree of the whole package.

Every error that may reach a person is one of these. A class knows its HTTP status at the gateway, its condition reason
on an XApp, and whether trying again without a change can help (`permanent`). The message says what was refused, the
rule, and the mend; it never carries a secret, a value of a user, or a local path.

    XAppError                         500
    ├── InputError                    422
    │   ├── MalformedRequest          400   a parameter, a body that is not JSON
    │   ├── NotAcceptedMedia          415   not multipart
    │   ├── TooLarge                  413   over a byte cap
    │   ├── FormInvalid               422   the deployment form, an XApp's spec
    │   ├── ValuesInvalid             422   ValuesInvalid: not YAML, not an object, against the schema
    │   │   └── ValuesNotFound        422   a Secret or ConfigMap of valuesFrom, or its key, is missing
    │   └── ChartInvalid              422   ChartInvalid: the archive, its templates, its dependencies
    ├── ChartSourceError              422   ChartPullFailed
    │   ├── ChartNotFound             422   no such chart (permanent)
    │   │   └── VersionNotFound       422   the chart has other versions (permanent)
    │   ├── AddressRefused            422   the repository's address is not allowed (permanent)
    │   ├── DigestMismatch            422   other bytes than the digest says (permanent)
    │   └── SourceUnavailable         502   network, 5xx (passing)
    │       └── SourceTimeout         504   not within its time (passing)
    ├── HelmError                     502   InstallFailed, UpgradeFailed … by the step
    │   ├── HelmTimeout               504
    │   ├── KindNotServed             422   the cluster has no such kind (passing: its definition may follow)
    │   └── ReleaseTooLarge           422   ChartInvalid (permanent)
    ├── KubeError                     502
    │   ├── Unauthenticated           401
    │   │   └── SessionEnded          401   the cookie is garbled, too old, or its key is no more
    │   ├── AccessDenied              403   AccessDenied (permanent)
    │   ├── QuotaExceeded             403   a ResourceQuota is used up (passing)
    │   ├── NotFound                  404
    │   ├── Conflict                  409   a concurrent write (passing)
    │   ├── AlreadyExists             409
    │   ├── NamespaceTerminating      409   nothing new may be made in it (passing)
    │   ├── Invalid                   422   refused by the API server's schema or admission (permanent)
    │   ├── WatchExpired              410   the resource version is too old: list again
    │   └── ApiUnavailable            503   the API server does not answer (passing)
    ├── UpstreamUnreachable           502   an xApp's own API does not answer, or broke off (passing)
    │   └── UpstreamSilent            504   not in time (passing)
    └── RequestRefused                403   foreign Origin
        ├── WrongHost                 421
        ├── NotFoundHere              404   no such record, path
        ├── IdentityConflict          409   the name belongs to another identity or url
        ├── LabelsOnly                409   the xApp is known by its labels: no XApp to act on
        └── NotReady                  503   the caches are not in sync yet
            └── TooManyAtOnce         503   as many streams, logs or proxied requests are open as may be
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field: `field` is a dotted path (`values.image.tag`, `xAppForm.version`)."""

    field: str
    message: str


class XAppError(Exception):
    """The root. `permanent` errors set Stalled; the others set Reconciling and are tried again."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    reason: ClassVar[str | None] = None
    permanent: bool = False

    def __init__(self, message: str, *, errors: tuple[FieldError, ...] = (), permanent: bool | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors
        if permanent is not None:
            self.permanent = permanent


class InputError(XAppError):
    """Something a caller sent is against a rule."""

    status = 422
    title = "Invalid input"
    permanent = True


class MalformedRequest(InputError):
    status = 400
    title = "Malformed request"


class UnsupportedMediaType(InputError):
    status = 415
    title = "Unsupported media type"


class ContentTooLarge(InputError):
    status = 413
    title = "Content too large"


class FormInvalid(InputError):
    title = "Invalid deployment form"
    reason = "ValuesInvalid"


class ValuesInvalid(InputError):
    title = "Invalid values"
    reason = "ValuesInvalid"


class ValuesNotFound(ValuesInvalid):
    title = "Values not found"


class ChartInvalid(InputError):
    title = "Invalid chart"
    reason = "ChartInvalid"


class ChartSourceError(XAppError):
    """The chart could not be had from where the XApp says it lies."""

    status = 422
    title = "Chart not available"
    reason = "ChartPullFailed"


class ChartNotFound(ChartSourceError):
    title = "Chart not found"
    permanent = True


class VersionNotFound(ChartNotFound):
    title = "Chart version not found"


class AddressRefused(ChartSourceError):
    title = "Repository address refused"
    permanent = True


class DigestMismatch(ChartSourceError):
    title = "Chart digest mismatch"
    permanent = True


class SourceUnavailable(ChartSourceError):
    status = 502
    title = "Chart source unavailable"


class SourceTimeout(SourceUnavailable):
    status = 504
    title = "Chart source timed out"


class HelmError(XAppError):
    """Helm refused or failed; the message is helm's own, trimmed and redacted."""

    status = 502
    title = "Helm failed"


class HelmTimeout(HelmError):
    status = 504
    title = "Helm timed out"


class KindNotServed(HelmError):
    status = 422
    title = "Kind not served"


class ReleaseTooLarge(HelmError):
    status = 422
    title = "Release too large"
    reason = "ChartInvalid"
    permanent = True


class KubeError(XAppError):
    """The Kubernetes API answered with an error; `status` is what the gateway passes on."""

    status = 502
    title = "Kubernetes API error"


class Unauthenticated(KubeError):
    status = 401
    title = "Not signed in"
    permanent = True


class SessionEnded(Unauthenticated):
    title = "Session ended"


class AccessDenied(KubeError):
    status = 403
    title = "Access denied"
    reason = "AccessDenied"
    permanent = True


class QuotaExceeded(KubeError):
    status = 403
    title = "Quota exceeded"


class NotFound(KubeError):
    status = 404
    title = "Not found"


class Conflict(KubeError):
    status = 409
    title = "Conflict"


class AlreadyExists(KubeError):
    status = 409
    title = "Already exists"


class NamespaceTerminating(KubeError):
    status = 409
    title = "Namespace is being deleted"


class Invalid(KubeError):
    status = 422
    title = "Refused by the cluster"
    permanent = True


class WatchExpired(KubeError):
    status = 410
    title = "Resource version too old"


class ApiUnavailable(KubeError):
    status = 503
    title = "Kubernetes API unavailable"


class UpstreamUnreachable(XAppError):
    """An xApp's own API did not answer; what it does answer is passed on, whatever it is."""

    status = 502
    title = "xApp not reachable"


class UpstreamTimeout(UpstreamUnreachable):
    status = 504
    title = "xApp did not answer in time"


class RequestRefused(XAppError):
    """The gateway itself refuses the request, before or beside the cluster."""

    status = 403
    title = "Request refused"
    permanent = True


class MisdirectedRequest(RequestRefused):
    status = 421
    title = "Misdirected request"


class GatewayNotFound(RequestRefused):
    status = 404
    title = "Not found"


class IdentityConflict(RequestRefused):
    status = 409
    title = "Conflict"
    reason = "AccessDenied"


class NoXAppResource(RequestRefused):
    status = 409
    title = "Known by labels only"


class NotReady(RequestRefused):
    status = 503
    title = "Not ready"


class TooManyConcurrentRequests(NotReady):
    title = "Too many at a time"
