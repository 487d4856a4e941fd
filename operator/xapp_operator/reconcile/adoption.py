"""Whether a release that a person made is already what an XApp wants, so that taking it over changes nothing.

Lives in `reconcile`, beside `observe`, which asks it before `plan` decides. Helm keeps no archive of a chart, so what
the chart renders now with the release's own values is held against what the release consists of. A chart that renders
otherwise each time (random passwords, `lookup`) counts as different: the answer is then an upgrade.
"""

from __future__ import annotations

import asyncio

from xapp_operator.api.json import obj, text
from xapp_operator.api.names import HELM_HOOK
from xapp_operator.domain.plan_input import DEPLOYED, Digests, ObservedRelease
from xapp_operator.domain.values import values_digest
from xapp_operator.errors import HelmError, InputError
from xapp_operator.helm import release_storage
from xapp_operator.helm.manifest import load_documents, split_documents
from xapp_operator.helm.release_storage import decode_release, release_secret_name
from xapp_operator.helm.requests import TemplateRequest
from xapp_operator.kube.resources import SECRETS
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.release_inputs import DIGEST_LENGTH, ReleaseInputs


async def matches_desired_state(
    work: ReconcileRequest, tools: ReconcilerContext, release: ObservedRelease, desired: Digests
) -> bool:
    """Return whether `release`, a person's that is to be adopted, was made of the desired chart and values.

    Raises:
        KubeError: when the release cannot be read, or the cluster not asked what it serves.
    """
    already_attempted = work.draft.attempt is not None and work.draft.attempt.digests == desired
    if release.owner is not None or release.status != DEPLOYED or not work.xapp.spec.adopt or already_attempted:
        return False
    client, name = tools.impersonation.client_for(work.xapp), work.xapp.release_name
    secret = await client.get(SECRETS, release_secret_name(name, release.revision), namespace=work.namespace)
    try:
        stored = await asyncio.to_thread(decode_release, secret)
        if values_digest(stored.config)[:DIGEST_LENGTH] != desired.values:
            return False
        materials = await tools.inputs.load(work.xapp)
        info = materials.chart.info
        if materials.digests != desired or (stored.chart.name, stored.chart.version) != (info.name, info.version):
            return False
        rendered = await tools.helm.template(await _request(work, tools, stored, materials))
        return await asyncio.to_thread(_same_manifest, stored.manifest, rendered.manifest)
    except (InputError, HelmError):
        return False  # what is wrong with it, the upgrade says


async def _request(
    work: ReconcileRequest, tools: ReconcilerContext, stored: release_storage.ReleaseRecord, materials: ReleaseInputs
) -> TemplateRequest:
    version, api_versions = await asyncio.gather(tools.kube.server_version(), tools.kube.discovery.api_versions())
    return TemplateRequest(
        name=work.xapp.release_name,
        namespace=work.namespace,
        chart=materials.chart.path,
        values=stored.config,
        kube_version=version,
        api_versions=api_versions,
        skip_schema=True,
        upgrade=stored.revision > 1,
        chart_name=materials.chart.info.name,
    )


def _same_manifest(stored: str, rendered: str) -> bool:
    """Return whether a release's manifest is what was rendered, which has hooks and definitions of kinds besides."""
    stored_documents, rendered_documents = (
        {document.strip() for document in split_documents(manifest)} for manifest in (stored, rendered)
    )
    return stored_documents <= rendered_documents and all(map(_is_hook_or_crd, rendered_documents - stored_documents))


def _is_hook_or_crd(document: str) -> bool:
    return all(
        text(one, "kind") == "CustomResourceDefinition" or HELM_HOOK in obj(obj(one, "metadata"), "annotations")
        for one in load_documents(document)
    )
