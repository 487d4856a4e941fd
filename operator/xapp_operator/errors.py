"""The error tree of the whole package.

Every error that a user may see is one of these. Each class has an HTTP status for the gateway and a condition reason
for an XApp. An error is `permanent` if a retry without a change cannot help. A message says what was refused, the rule,
and what to do. It never contains a secret, a value that a user sent, or a local path.

    XAppError
    ├── InputError
    │   ├── MalformedRequest             a parameter, or a body that is not JSON
    │   ├── UnsupportedMediaType         not multipart
    │   ├── ContentTooLarge              more bytes than allowed
    │   ├── FormInvalid                  the deployment form, or the spec of an XApp
    │   ├── ValuesInvalid                not YAML, not an object, or refused by the chart's schema
    │   │   └── ValuesNotFound           a Secret or ConfigMap of valuesFrom, or its key, is missing
    │   └── ChartInvalid                 the archive, its templates, or its dependencies
    │       └── SignatureInvalid         no signature of a trusted key, or the keys cannot be read
    ├── ChartSourceError
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
    │   ├── HelmTimeout
    │   ├── KindNotServed                not permanent: its CustomResourceDefinition may be installed later
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


class XAppError(Exception):
    """The root. A permanent error sets Stalled; any other sets Reconciling and is retried."""

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

    @classmethod
    def for_field(cls, field: str, message: str, *, subject: str | None = None) -> Self:
        """Return the error of one field; its own message is that of the field after `subject`, by default `field`."""
        return cls(f"{subject or field} {message}", errors=(FieldError(field, message),))


class InputError(XAppError):
    """The caller sent something that breaks a rule."""

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


class SignatureInvalid(ChartInvalid):
    title = "Chart signature not valid"


class ChartSourceError(XAppError):
    """The chart could not be fetched from the source that the XApp names."""

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


class SourceAccessDenied(ChartSourceError):
    title = "Repository denies access"
    permanent = True


class DigestMismatch(ChartSourceError):
    title = "Chart digest mismatch"
    permanent = True


class SourceUnavailable(ChartSourceError):
    status = 502
    title = "Chart source unavailable"


class CertificateNotTrusted(SourceUnavailable):
    title = "Certificate of the repository not trusted"


class SourcePending(SourceUnavailable):
    """Nothing has failed: the source is being read. `has_begun` is False while it waits for its turn."""

    title, reason = "Chart source not read yet", "Progressing"
    has_begun: bool = True


class SourceTimeout(SourceUnavailable):
    status = 504
    title = "Chart source timed out"


class HelmError(XAppError):
    """Helm failed; the message is helm's own, shortened and without secrets."""

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
    """The Kubernetes API returned an error; the gateway passes `status` on."""

    status = 502
    title = "Kubernetes API error"


class Unauthenticated(KubeError):
    status = 401
    title = "Not signed in"
    permanent = True


class SessionEnded(Unauthenticated):
    title = "Session ended"


class SessionProofRequired(Unauthenticated):
    title = "Session proof required"


class AccessDenied(KubeError):
    """The caller lacks `missing`; it is empty if the cluster refuses for another reason, such as a webhook."""

    status = 403
    title = "Access denied"
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


class ApiOverloaded(ApiUnavailable):
    """The API server answered 429, or too late: unlike an outage, a caller can bring this about for themselves."""

    title = "Kubernetes API overloaded"


class UpstreamUnreachable(XAppError):
    """An xApp's own API did not answer. Any answer that it gives is passed on unchanged."""

    status = 502
    title = "xApp not reachable"


class UpstreamTimeout(UpstreamUnreachable):
    status = 504
    title = "xApp did not answer in time"


class RequestRefused(XAppError):
    """The gateway itself refuses the request, without a request to the cluster."""

    status = 403
    title = "Request refused"
    permanent = True


class MisdirectedRequest(RequestRefused):
    status = 421
    title = "Misdirected request"


class InsecureSession(RequestRefused):
    title = "Sessions need HTTPS"


class GatewayNotFound(RequestRefused):
    status = 404
    title = "Not found"


class IdentityConflict(RequestRefused):
    status = 409
    title = "Conflict"
    reason = "AccessDenied"


class SnapshotExpired(RequestRefused):
    status = 410
    title = "Snapshot expired"


class PreconditionFailed(RequestRefused):
    status = 412
    title = "Changed meanwhile"


class ChartInUse(RequestRefused):
    status = 409
    title = "Chart in use"


class NoXAppResource(RequestRefused):
    status = 409
    title = "Known by labels only"


class NotReady(RequestRefused):
    status = 503
    title = "Not ready"


class TooManyRequests(RequestRefused):
    status = 429
    title = "Too many requests"
    permanent = False


class TooManyConcurrentRequests(TooManyRequests):
    title = "Too many at a time"


class TooManyUnknownTokens(TooManyRequests):
    title = "Too many unknown tokens"
