"""What follows "is forbidden" tells whether a right is missing, or admission control refuses an object."""

from __future__ import annotations

import pytest

from xapp_operator.errors import AccessDenied, ApiUnavailable, ChartInvalid, HelmError, Invalid, XAppError
from xapp_operator.helm.results.error_rules import error_from_stderr

REFUSED = "Admission control of this cluster refuses it"
GRANT = "Grant the service account that permission"


@pytest.mark.parametrize(
    ("rest", "kind", "permanent", "advice"),
    [
        ("maximum cpu usage per Container is 1, but limit is 2", Invalid, True, REFUSED),
        ("failed quota: q: must specify limits.cpu for: main", Invalid, True, REFUSED),
        ("no PriorityClass with name high was found", Invalid, True, REFUSED),
        ("not yet ready to handle request", ApiUnavailable, False, ""),
        ("status unknown for quota: q, resources: pods", ApiUnavailable, False, ""),
        (
            'error looking up service account ric/y: serviceaccount "y" not found',
            HelmError,
            False,
            "Create the service account, or name another one in the values",
        ),
        ("unable to validate against any security context constraint: []", AccessDenied, True, GRANT),
        ('User "x" cannot get path "/metrics"', AccessDenied, True, GRANT),
        ("cannot set blockOwnerDeletion if an ownerReference refers to a resource", AccessDenied, True, GRANT),
    ],
)
@pytest.mark.parametrize("step", ["server-side apply failed for object ric/x /v1, Kind=Pod: ", "failed pre-install: "])
def test_what_is_forbidden_decides_the_error(
    step: str, rest: str, kind: type[XAppError], permanent: bool, advice: str
) -> None:
    error = error_from_stderr(f'Error: INSTALLATION FAILED: {step}pods "x" is forbidden: {rest}\n')
    assert (type(error), error.permanent) == (kind, permanent)
    assert rest in error.message
    assert error.message.endswith(rest) if not advice else advice in error.message


@pytest.mark.parametrize(
    "step", ["server-side apply failed for object ric/ /v1, Kind=ConfigMap: ", "failed pre-install: "]
)
def test_an_object_without_a_name_is_refused_at_once(step: str) -> None:
    error = error_from_stderr(f"Error: INSTALLATION FAILED: {step}resource name may not be empty\n")
    assert (type(error), error.permanent) == (ChartInvalid, True)
    assert "replace generateName by name" in error.message
