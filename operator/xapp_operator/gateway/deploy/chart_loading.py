"""The chart that an XApp asks for: uploaded with the request, stored in the cluster, or in a repository.

Everything is read with the caller's client, credentials too.
"""

from __future__ import annotations

from xapp_operator.api.models import METHOD_REMOTE, XAppSpec
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.chart_request import ChartRequest
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.errors import (
    AddressRefused,
    ChartNotFound,
    ChartSourceError,
    SourceUnavailable,
    VersionNotFound,
    XAppError,
)
from xapp_operator.gateway.charts.uploads import ArchiveStorage, UploadedChart
from xapp_operator.gateway.deploy.desired_xapp import DesiredXApp
from xapp_operator.gateway.deploy.form_repository import load_form_repository
from xapp_operator.gateway.deploy.forms import FORM_PART
from xapp_operator.gateway.deploy.new_repository import load_new_repository, refusal_of_new_repository
from xapp_operator.gateway.deploy.submission import invalid_file_part, require_provenance_of, with_field_error
from xapp_operator.kube.client import KubeClient


class ChartLoader:
    def __init__(self, *, charts: ChartSources, signatures: SignatureChecker, archives: ArchiveStorage) -> None:
        self._charts = charts
        self._signatures = signatures
        self._archives = archives

    async def load(self, client: KubeClient, desired: DesiredXApp, spec: XAppSpec) -> ChartFile | UploadedChart:
        """Return the chart of `desired`, whose spec is `spec`, with its signatures checked.

        Raises:
            FormInvalid: when the uploaded chart no longer exists.
            ChartSourceError, ChartInvalid: when a remote chart is not available; errors name fields of the form.
            IdentityConflict: when repoName is saved with another url.
            KubeError: when the client may not read what it needs.
        """
        if desired.chart is not None:
            provenance = desired.chart.provenance
            await self._signatures.check_uploaded(
                desired.chart,
                namespace=desired.namespace,
                provenance=None if provenance is None else provenance.encode(),
            )
            require_provenance_of(desired.chart)
            return desired.chart
        if spec.method == METHOD_REMOTE:
            return await self._fetch_remote_chart(client, desired, spec)
        try:
            archive = await self._archives.read(client, spec.archive, namespace=desired.namespace)
        except ChartNotFound:
            raise invalid_file_part("is required, because the uploaded chart no longer exists: send it again") from None
        file = await self._charts.store_archive(archive.data)
        await self._signatures.check_uploaded(file, namespace=desired.namespace, provenance=archive.provenance)
        return file

    async def _fetch_remote_chart(self, client: KubeClient, desired: DesiredXApp, spec: XAppSpec) -> ChartFile:
        new = desired.repository
        try:
            request = ChartRequest(
                repository=await load_form_repository(client, desired.form)
                if new is None
                else await load_new_repository(client, new),
                chart=spec.chart_name or "",
                version=spec.chart_version or spec.version,
            )
            chart = await self._charts.resolve(request)
            await self._signatures.check_remote(chart)
            return await self._charts.fetch(chart)
        except ChartSourceError as error:
            refusal = refusal_of_new_repository(error, new) if new is not None else None
            raise refusal or _at_field_of_form(error, spec) from None


def _at_field_of_form(error: ChartSourceError, spec: XAppSpec) -> XAppError:
    if isinstance(error, SourceUnavailable):
        # For the caller of a dry run the cause is a wrong url as often as an outage, so the response is not a 5xx.
        return with_field_error(ChartSourceError(error.message, errors=error.errors), f"{FORM_PART}.url")
    return with_field_error(error, f"{FORM_PART}.{_field_at_fault(error, spec)}")


def _field_at_fault(error: ChartSourceError, spec: XAppSpec) -> str:
    """Return the form field that an error of a chart source is about."""
    if isinstance(error, AddressRefused):
        return "url"
    if isinstance(error, VersionNotFound):
        return "chartVersion" if spec.chart_version is not None else "version"
    return "chartName"
