"""The names that clients and clusters rely on: group, kinds, labels, annotations, finalizer."""

from __future__ import annotations

from typing import Final

GROUP: Final = "xapp-operator.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

XAPP_KIND: Final = "XApp"
XAPP_PLURAL: Final = "xapps"
REPOSITORY_KIND: Final = "ChartRepository"
REPOSITORY_PLURAL: Final = "chartrepositories"
ARCHIVE_KIND: Final = "ChartArchive"
ARCHIVE_PLURAL: Final = "chartarchives"

RELEASE_NAME_MAX: Final = 53
"""Characters of the name of a Helm release."""

OPERATOR_ACCOUNT: Final = "xapp-operator"
"""The service account of the operator in manifests/base."""
SECRETS_ROLE: Final = "xapp-operator-secrets"
"""The ClusterRole of manifests/base with which the operator reads Secrets, and its RoleBinding in each namespace."""

FIELD_MANAGER: Final = "xapp-operator"
FINALIZER: Final = f"{GROUP}/finalizer"

REPOSITORY_CREDENTIALS_TYPE: Final = f"{GROUP}/repository-credentials"
BASIC_AUTH_TYPE: Final = "kubernetes.io/basic-auth"

LABEL_XAPP: Final = f"{GROUP}/xapp"
LABEL_ORGANIZATION: Final = f"{GROUP}/organization"
LABEL_TEAM: Final = f"{GROUP}/team"
LABEL_VERSION: Final = f"{GROUP}/version"
LABEL_COMPONENT: Final = f"{GROUP}/component"
REGISTRATION_LABELS: Final = (LABEL_XAPP, LABEL_ORGANIZATION, LABEL_TEAM, LABEL_VERSION)
"""The labels on every object of a release. Services have LABEL_COMPONENT too."""
LABEL_CHART_DIGEST: Final = f"{GROUP}/chart-digest"
LABEL_VALUES_DIGEST: Final = f"{GROUP}/values-digest"
LABEL_ATTEMPT: Final = f"{GROUP}/attempt"
LABEL_CHART: Final = f"{GROUP}/chart"
LABEL_CHART_VERSION: Final = f"{GROUP}/chart-version"
"""The labels of a ChartArchive. Annotations of the same keys have the original texts."""
LABEL_AGGREGATE_TO_IMPERSONATION: Final = f"{GROUP}/aggregate-to-impersonation"
LABEL_AGGREGATE_TO_MONITOR: Final = f"{GROUP}/aggregate-to-monitor"

ANNOTATION_RECONCILE_AT: Final = f"{GROUP}/reconcile-at"
ANNOTATION_RETRY_AT: Final = f"{GROUP}/retry-at"
ANNOTATION_FORCE_AT: Final = f"{GROUP}/force-at"
ANNOTATION_TEST_AT: Final = f"{GROUP}/test-at"
ANNOTATION_ROLLBACK_TO: Final = f"{GROUP}/rollback-to"
ANNOTATION_IGNORE_DRIFT: Final = f"{GROUP}/ignore-drift"
"""Of an object of a release: `all`, or JSON pointers separated by commas, that drift detection leaves alone."""
ANNOTATION_VALUES_TEXT: Final = f"{GROUP}/values-text"
"""Of an XApp: the user's values as they were written, with comments, secrets masked. The gateway writes it."""
ANNOTATION_CHART_DIGEST: Final = f"{GROUP}/chart-digest"  # this and the next four are of a ChartArchive
ANNOTATION_CHART_SIZE: Final = f"{GROUP}/chart-size"
ANNOTATION_APP_VERSION: Final = f"{GROUP}/app-version"
ANNOTATION_DESCRIPTION: Final = f"{GROUP}/description"
ANNOTATION_RELEASED_AT: Final = f"{GROUP}/released-at"
"""When the last owner of a ChartArchive left it (RFC 3339)."""
ANNOTATION_KEEP: Final = f"{GROUP}/keep"
"""`true`: a ChartArchive has no owners and is not deleted when nothing uses it."""
ANNOTATION_ORIGIN: Final = f"{GROUP}/origin"
"""Of a Secret with credentials: scheme, host and port of the only repository that may get them."""

HELM_RELEASE_NAME: Final = "meta.helm.sh/release-name"
HELM_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
HELM_HOOK: Final = "helm.sh/hook"
HELM_RESOURCE_POLICY: Final = "helm.sh/resource-policy"
HELM_SECRET_PREFIX: Final = "sh.helm.release.v1."  # noqa: S105
