"""The base of the models, camelCase in JSON and frozen in memory, and the objects inside `spec` of the resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, WithJsonSchema
from pydantic.alias_generators import to_camel

from xapp_operator.api.json import JsonObject
from xapp_operator.api.rules import CelRule, cel_rules, one_line_rule, pattern_rule

if TYPE_CHECKING:
    UnvalidatedObject = JsonObject
else:  # the API server has validated values; doing it again would take milliseconds for 300 KB
    UnvalidatedObject = Annotated[
        dict,
        SkipValidation,
        WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    ]


class Model(BaseModel):
    """Base of every part of a custom resource. Unknown fields are ignored: the API server refuses or prunes them."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", arbitrary_types_allowed=True
    )


REPOSITORY_SCHEMES: Final = ("http", "https", "oci")
"""The schemes of repository URLs. `charts.chart_sources` has a source for each."""
REPOSITORY_SCHEMES_PATTERN: Final = "^(" + "|".join(REPOSITORY_SCHEMES) + ")://"
REPOSITORY_PREFIXES_TEXT: Final = (
    ", ".join(f"{scheme}://" for scheme in REPOSITORY_SCHEMES[:-1]) + f" or {REPOSITORY_SCHEMES[-1]}://"
)

RepositoryType: TypeAlias = Literal["http", "oci"]
"""The kinds of repositories: the schemes, without https."""

URL_RULES = (
    pattern_rule(f"{REPOSITORY_SCHEMES_PATTERN}[^/?#]+", f"must begin with {REPOSITORY_PREFIXES_TEXT} and name a host"),
    pattern_rule("^[!-~]+$", "must have no spaces and only printable ASCII characters"),
    CelRule(
        "isURL(self) && url(self).getHostname() != '' && (url(self).getPort() == '' "
        "|| int(url(self).getPort()) < 65536)",
        "must be a URL with a host and, if it has a port, one up to 65535",
    ),
    pattern_rule(
        "^[a-z]+://[^/?#]*@",
        "must not contain credentials: put them into a Secret and name it in secretRef of the ChartRepository",
        negated=True,
    ),
)

DIGEST_RULE: Final = pattern_rule("^sha256:[0-9a-f]{64}$", "must be sha256: followed by 64 lower-case hex digits")
DIGEST_MAX: Final = 71

ObjectName = Annotated[str, Field(min_length=1, max_length=253), one_line_rule()]


class KeyRef(Model):
    """One key of a Secret or ConfigMap in the XApp's namespace."""

    name: ObjectName = Field(description="Name of the object, in the XApp's namespace.")
    key: ObjectName = Field(description="Key inside the object's data.")


class NameRef(Model):
    """An object in the XApp's namespace."""

    name: ObjectName = Field(description="Name of the object, in the XApp's namespace.")


class ArchiveSource(Model):
    """Where the archive of an uploaded chart is."""

    model_config = ConfigDict(
        json_schema_extra=cel_rules(
            CelRule(
                "[has(self.chartArchiveRef), has(self.secretRef), has(self.configMapRef)].filter(set, set).size() == 1",
                "archive must have exactly one of chartArchiveRef, secretRef and configMapRef",
            )
        )
    )

    chart_archive_ref: NameRef | None = Field(
        None, description="ChartArchive that holds the packaged chart. The gateway creates one from an upload."
    )
    secret_ref: KeyRef | None = Field(
        None, description="Secret that holds the packaged chart (.tgz), for GitOps repositories."
    )
    config_map_ref: KeyRef | None = Field(
        None, description="ConfigMap whose binaryData holds the packaged chart (.tgz), for GitOps repositories."
    )
    digest: Annotated[str | None, DIGEST_RULE] = Field(
        None,
        description="sha256:<hex> of the archive. Checked if given; a mismatch sets Stalled.",
        max_length=DIGEST_MAX,
    )


class ValuesRef(Model):
    """A Secret or ConfigMap whose key holds a values file."""

    kind: Literal["Secret", "ConfigMap"] = Field(description="Secret or ConfigMap.")
    name: ObjectName = Field(description="Name of the object, in the XApp's namespace.")
    key: ObjectName = Field("values.yaml", description="Key that holds the values file (YAML). Default values.yaml.")
    optional: bool = Field(False, description="true: a missing object or key is not an error. Default false.")  # noqa: FBT003


class DriftDetection(Model):
    """What to do when objects of the release differ from the manifest."""

    mode: Literal["disabled", "warn", "enabled"] = Field(
        "warn",
        description="disabled, warn (condition Drifted and an event) or enabled (also apply the manifest again). "
        "Default warn.",
    )


class UpgradePolicy(Model):
    """What to do when an upgrade fails permanently."""

    on_failure: Literal["rollback", "none"] = Field(
        "rollback",
        description="rollback: return to the last good revision; none: stay, with condition Stalled. Default rollback.",
    )


class HelmTestPolicy(Model):
    """Whether the chart's helm tests run."""

    enabled: bool = Field(
        False,  # noqa: FBT003
        description="true: run the chart's tests once after each install and upgrade that became healthy. Default "
        "false: only on request.",
    )
    on_failure: Literal["rollback", "none"] = Field(
        "none",
        description="rollback: return to the last good revision when the tests after an upgrade fail; none: only "
        "report it. Default none.",
    )


class Dependency(Model):
    """Another XApp in the same namespace that must be Ready first."""

    name: ObjectName = Field(description="metadata.name of the other XApp.")
