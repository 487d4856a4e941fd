"""The error tree of the whole package.

Every error that a user may see is one of these. Each class has an HTTP status for the gateway and a condition reason
for an XApp. An error is `permanent` if a retry without a change cannot help. A message says what was refused, the rule,
and what to do. It never contains a secret, a value that a user sent, or a local path.

    XAppError
    ├── InputError                       the caller sent something that breaks a rule
    │   ├── MalformedRequest             a parameter, or a body that is not JSON
    │   ├── UnsupportedMediaType         not multipart
    │   ├── ContentTooLarge              more bytes than allowed
    │   ├── FormInvalid                  the deployment form, or the spec of an XApp
    │   ├── ValuesInvalid                not YAML, not an object, or refused by the chart's schema
    │   │   └── ValuesNotFound           a Secret or ConfigMap of valuesFrom, or its key, is missing
    │   └── ChartInvalid                 the archive, its templates, or its dependencies
    │       └── SignatureInvalid         no signature of a trusted key, or the keys cannot be read
    ├── ChartSourceError                 the source that the XApp names does not give its chart
    │   ├── ChartNotFound
    │   │   └── VersionNotFound          the chart has other versions
    │   ├── AddressRefused               the repository's address is not allowed
    │   ├── SourceAccessDenied           the repository wants credentials, or others
    │   ├── DigestMismatch               the archive has another digest than the spec names
    │   └── SourceUnavailable            network errors and 5xx
    │       ├── CertificateNotTrusted
    │       ├── SourcePending            nothing has failed: the source has not answered yet
    │       └── SourceTimeout
    ├── HelmError                        the condition reason names the step: InstallFailed, UpgradeFailed, …
    │   ├── HelmNotStarted               such as a full disk: the time does not count towards spec.timeout
    │   ├── HelmTimeout
    │   ├── HookFailed                   a hook of the chart, such as a test, ended with a failure
    │   ├── KindNotServed                not permanent: its CustomResourceDefinition may be installed later
    │   ├── ReleaseHeld                  another helm process of this operator works on it
    │   ├── ReleaseRecordDamaged         helm cannot read it either
    │   │   └── ReleaseRecordTooLarge    helm can read it, this operator does not
    │   └── ReleaseTooLarge
    ├── KubeError
    │   ├── Unauthenticated
    │   │   ├── SessionEnded             the cookie is damaged, expired or signed out, or its key is gone
    │   │   └── SessionProofRequired     the cookie comes without the proof of its session
    │   ├── AccessDenied
    │   ├── QuotaExceeded
    │   ├── NotFound
    │   ├── Conflict                     a concurrent write
    │   ├── AlreadyExists
    │   ├── NamespaceTerminating         nothing new can be created in it
    │   ├── Invalid                      refused by the API server's schema or by admission
    │   ├── WatchExpired                 the resource version is too old: list again
    │   └── ApiUnavailable               the API server does not answer
    │       └── ApiOverloaded            it refuses this caller for now, or took too long
    ├── UpstreamUnreachable              an xApp's own API does not answer, or ends the connection early
    │   └── UpstreamTimeout
    └── RequestRefused                   by the gateway itself; as such, a foreign Origin
        ├── MisdirectedRequest           the Host header is not allowed
        ├── InsecureSession              a session over plain HTTP
        ├── GatewayNotFound              no such path, record, namespace, or pod
        ├── IdentityConflict             the name belongs to another identity or URL
        ├── SnapshotExpired              the snapshot of a list is gone: begin again
        ├── PreconditionFailed           the object is not the one that If-Match names
        │   └── ReplacedMeanwhile        it is another object of the same name
        ├── ChartInUse                   XApps refer to the ChartArchive
        ├── NoXAppResource               the xApp is known by its labels only, so there is no XApp to act on
        ├── NotReady                     the caches have not synced yet
        └── TooManyRequests              try again later
            ├── TooManyConcurrentRequests
            └── TooManyUnknownTokens     from one address
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field; `field` is a dotted path such as `values.image.tag` or `xAppForm.version`.

    `line` and `column`, from 1, are its place in the text that was sent, if there is one.
    """

    field: str
    message: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class MissingRight:
    """A right that a request needs and its caller lacks; `group` is empty for the core API of Kubernetes."""

    verb: str
    group: str
    resource: str
    subresource: str | None = None


@dataclass(frozen=True, slots=True)
class NextRequest:
    """A request to the gateway that helps after an error; `path` is encoded, and may have parameters such as {chart}.

    A message is also read on pages, in events and in conditions, so it says what to do without paths.
    """

    method: str
    path: str


class XAppError(Exception):
    """The root. A permanent error sets Stalled; any other sets Reconciling and is retried."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    reason: ClassVar[str | None] = None
    permanent: bool = False
    next_requests: tuple[NextRequest, ...] = ()

    def __init__(self, message: str, *, errors: tuple[FieldError, ...] = (), permanent: bool | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors
        if permanent is not None:
            self.permanent = permanent

    def with_next(self, *requests: NextRequest) -> Self:
        """Return this error with the requests that help."""
        self.next_requests = requests
        return self

    @classmethod
    def for_field(cls, field: str, message: str, *, subject: str | None = None) -> Self:
        """Return the error of one field; its own message is that of the field after `subject`, by default `field`."""
        return cls(f"{subject or field} {message}", errors=(FieldError(field, message),))


class InputError(XAppError):
    status, title = 422, "Invalid input"
    permanent = True


class MalformedRequest(InputError):
    status, title = 400, "Malformed request"


class UnsupportedMediaType(InputError):
    status, title = 415, "Unsupported media type"


class ContentTooLarge(InputError):
    status, title = 413, "Content too large"


class FormInvalid(InputError):
    reason = "ValuesInvalid"


class ValuesInvalid(InputError):
    title, reason = "Invalid values", "ValuesInvalid"


class ValuesNotFound(ValuesInvalid):
    title = "Values not found"


class ChartInvalid(InputError):
    title, reason = "Invalid chart", "ChartInvalid"


class SignatureInvalid(ChartInvalid):
    title = "Chart signature not valid"


class ChartSourceError(XAppError):
    status, title = 422, "Chart not available"
    reason = "ChartPullFailed"


class ChartNotFound(ChartSourceError):
    title, permanent = "Chart not found", True


class VersionNotFound(ChartNotFound):
    title = "Chart version not found"


class AddressRefused(ChartSourceError):
    title, permanent = "Repository address refused", True


class SourceAccessDenied(ChartSourceError):
    title, permanent = "Repository denies access", True


class DigestMismatch(ChartSourceError):
    title, permanent = "Chart digest mismatch", True


class SourceUnavailable(ChartSourceError):
    status, title = 502, "Chart source unavailable"


class CertificateNotTrusted(SourceUnavailable):
    title = "Certificate of the repository not trusted"


class SourcePending(SourceUnavailable):
    """Nothing has failed: the source is being read. `has_begun` is False while it waits for its turn."""

    title, reason = "Chart source not read yet", "Progressing"
    has_begun: bool = True


class SourceTimeout(SourceUnavailable):
    status, title = 504, "Chart source timed out"


class HelmError(XAppError):
    """Helm failed; the message is helm's own, shortened and without secrets."""

    status, title = 502, "Helm failed"


class HelmNotStarted(HelmError):
    title, reason = "Helm not started", "Progressing"


class ReleaseHeld(HelmError):
    title = "Release in use"


class HelmTimeout(HelmError):
    status, title = 504, "Helm timed out"


class HookFailed(HelmError):
    title = "Hook failed"


class KindNotServed(HelmError):
    status, title = 422, "Kind not served"


class ReleaseRecordDamaged(HelmError):
    permanent = True


class ReleaseRecordTooLarge(ReleaseRecordDamaged): ...


class ReleaseTooLarge(HelmError):
    status, title = 422, "Release too large"
    reason, permanent = "ChartInvalid", True


class KubeError(XAppError):
    """The Kubernetes API returned an error; the gateway passes `status` on."""

    status, title = 502, "Kubernetes API error"


class Unauthenticated(KubeError):
    status, title = 401, "Not signed in"
    permanent = True


class SessionEnded(Unauthenticated):
    title = "Session ended"


class SessionProofRequired(Unauthenticated):
    title = "Session proof required"


class AccessDenied(KubeError):
    """The caller lacks `missing`; it is empty if the cluster refuses for another reason, such as a webhook."""

    status, title = 403, "Access denied"
    reason = "AccessDenied"
    permanent = True

    def __init__(
        self,
        message: str,
        *,
        errors: tuple[FieldError, ...] = (),
        permanent: bool | None = None,
        missing: tuple[MissingRight, ...] = (),
    ) -> None:
        super().__init__(message, errors=errors, permanent=permanent)
        self.missing = missing


class QuotaExceeded(KubeError):
    status, title = 403, "Quota exceeded"


class NotFound(KubeError):
    status, title = 404, "Not found"


class Conflict(KubeError):
    status, title = 409, "Conflict"


class AlreadyExists(KubeError):
    status, title = 409, "Already exists"


class NamespaceTerminating(KubeError):
    status, title = 409, "Namespace is being deleted"


class Invalid(KubeError):
    status, title = 422, "Refused by the cluster"
    permanent = True


class WatchExpired(KubeError):
    status, title = 410, "Resource version too old"


class ApiUnavailable(KubeError):
    status, title = 503, "Kubernetes API unavailable"


class ApiOverloaded(ApiUnavailable):
    """The API server answered 429, or too late: unlike an outage, a caller can bring this about for themselves."""

    title = "Kubernetes API overloaded"


class UpstreamUnreachable(XAppError):
    """An xApp's own API did not answer. Any answer that it gives is passed on unchanged."""

    status, title = 502, "xApp not reachable"


class UpstreamTimeout(UpstreamUnreachable):
    status, title = 504, "xApp did not answer in time"


class RequestRefused(XAppError):
    """The gateway itself refuses the request, without a request to the cluster."""

    status, title = 403, "Request refused"
    permanent = True


class MisdirectedRequest(RequestRefused):
    status, title = 421, "Misdirected request"


class InsecureSession(RequestRefused):
    title = "Sessions need HTTPS"


class GatewayNotFound(RequestRefused):
    status, title = 404, "Not found"


class IdentityConflict(RequestRefused):
    status, title = 409, "Conflict"
    reason = "AccessDenied"


class SnapshotExpired(RequestRefused):
    status, title = 410, "Snapshot expired"


class PreconditionFailed(RequestRefused):
    status, title = 412, "Changed meanwhile"


class ReplacedMeanwhile(PreconditionFailed):
    title = "Replaced meanwhile"


class ChartInUse(RequestRefused):
    status, title = 409, "Chart in use"


class NoXAppResource(RequestRefused):
    status, title = 409, "Known by labels only"


class NotReady(RequestRefused):
    status, title = 503, "Not ready"


class TooManyRequests(RequestRefused):
    status, title = 429, "Too many requests"
    permanent = False


class TooManyConcurrentRequests(TooManyRequests):
    title = "Too many at a time"


class TooManyUnknownTokens(TooManyRequests):
    title = "Too many unknown tokens"
