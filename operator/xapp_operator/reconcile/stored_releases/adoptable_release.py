"""Recognizes a release that a person made from the desired chart and values, so that it can be adopted as it is."""

from __future__ import annotations

import asyncio

from xapp_operator.api.json import obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import HELM_HOOK
from xapp_operator.domain.chart_values.values import values_digest
from xapp_operator.domain.planning.plan_input import DEPLOYED, Digests, ObservedRelease
from xapp_operator.errors import HelmError, InputError, SourcePending
from xapp_operator.helm.manifest import load_documents, split_documents
from xapp_operator.helm.requests import TemplateRequest
from xapp_operator.reconcile.inputs.release_inputs import DIGEST_LENGTH
from xapp_operator.reconcile.reconcile_context import ObserverContext
from xapp_operator.reconcile.status.status_draft import StatusDraft
from xapp_operator.reconcile.watching.release_watch import read_release_record


async def matches_desired_state(
    xapp: XApp, draft: StatusDraft, context: ObserverContext, release: ObservedRelease, desired: Digests
) -> bool:
    """Return whether `release`, which a person made, came from the desired chart and values, so that it can be adopted.

    Helm stores no chart archive. So what the chart renders now with the values of the release is compared with the
    stored manifest. A chart that renders differently each time (random passwords, `lookup`) does not match, and is
    upgraded; so is one that cannot be rendered. The answer is kept, because an adoption may have to wait for long.

    Raises:
        SourcePending: while the chart has not been rendered: it may wait for a place for helm, without a worker.
        KubeError: when the release record, or what the cluster serves, cannot be read.
    """
    already_attempted = draft.attempt is not None and draft.attempt.digests == desired
    is_foreign = release.owner is None and release.status == DEPLOYED and not release.overtaken
    if not is_foreign or not xapp.spec.adopt or already_attempted:
        return False
    newest = context.release_watch.get_revision(xapp.metadata.namespace, xapp.release_name, release.revision)
    basis = desired, newest and (newest.secret_uid, newest.resource_version)
    known = context.adoption_matches.get(xapp.key)
    if known is not None and known[0] == basis:
        return known[1]
    matches = await context.adoption_checks.resolve(
        xapp.key, lambda: _matches(xapp, context, release, desired), version=basis, downloads=False
    )
    if matches is None:
        pending = SourcePending("the release is compared with the chart, to adopt it")
        pending.has_begun = context.adoption_checks.is_running(xapp.key)
        raise pending
    context.adoption_matches[xapp.key] = basis, matches
    return matches


async def _matches(xapp: XApp, context: ObserverContext, release: ObservedRelease, desired: Digests) -> bool:
    try:
        return await _renders_as_recorded(xapp, context, release, desired)
    except (InputError, HelmError):
        return False  # the upgrade reports what is wrong


async def _renders_as_recorded(
    xapp: XApp, context: ObserverContext, release: ObservedRelease, desired: Digests
) -> bool:
    client, namespace = context.impersonation.client_for(xapp), xapp.metadata.namespace
    record = await read_release_record(client, namespace, xapp.release_name, release.revision)
    if values_digest(record.config)[:DIGEST_LENGTH] != desired.values:
        return False
    inputs = await context.inputs.load(xapp)
    info = inputs.chart.info
    if inputs.digests != desired or (record.chart.name, record.chart.version) != (info.name, info.version):
        return False
    version, api_versions = await asyncio.gather(context.kube.server_version(), context.kube.discovery.api_versions())
    rendered = await context.helm.template(
        TemplateRequest(
            name=xapp.release_name,
            namespace=namespace,
            chart=inputs.chart.path,
            values=record.config,
            kube_version=version,
            api_versions=api_versions,
            skip_schema=True,
            upgrade=record.revision > 1,
            chart_name=info.name,
        )
    )
    return await asyncio.to_thread(_same_manifest, record.manifest, rendered.manifest)


def _same_manifest(stored: str, rendered: str) -> bool:
    """Return whether the two are equal, apart from hooks and CRDs, which only a rendered manifest contains."""
    stored_documents, rendered_documents = (
        {document.strip() for document in split_documents(manifest)} for manifest in (stored, rendered)
    )
    return stored_documents <= rendered_documents and all(map(_is_hook_or_crd, rendered_documents - stored_documents))


def _is_hook_or_crd(document: str) -> bool:
    return all(
        text(one, "kind") == "CustomResourceDefinition" or HELM_HOOK in obj(obj(one, "metadata"), "annotations")
        for one in load_documents(document)
    )
