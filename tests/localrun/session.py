"""Starts everything that `make run` runs, in order, and stops it in reverse order."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from tests.localcluster import (
    Binaries,
    Cluster,
    ClusterFailed,
    ClusterRunning,
    KubectlFailed,
    LocalCluster,
    choose_nodes,
)
from tests.localcluster.binaries import cache_root
from tests.localcluster.layout import ClusterLayout
from tests.localcluster.ports import LOOPBACK
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.providers import Provider, choose_provider
from tests.localcluster.start_request import JOINING
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.localrun import cluster_setup, samples
from tests.localrun.background import BackgroundFailed, BackgroundProcess, join_real_node_process
from tests.localrun.console import Console
from tests.localrun.dashboard import DashboardBuild
from tests.localrun.image import IMAGE, sample_image
from tests.localrun.preflight import check_port_free, run_lock
from tests.localrun.repository import chart_repository
from tests.localrun.samples import APPLIED_XAPP, UPLOADED_XAPP, SampleFailed, SampleGatewayClient, Samples
from tests.localrun.services import DEFAULT_PORT, GATEWAY, METRICS_PORT, OPERATOR, Services, service_specs
from tests.localrun.signals import ParentMake
from tests.support.work_folder import short_hash, work_folder

ROOT = Path(__file__).resolve().parents[2]

_READY_SECONDS = 300.0
"""Timeout of each step, long enough for a cluster that pulls images over a slow connection."""
_REMOVE_SECONDS = 8.0
_LEFTOVER_SECONDS = 10.0
_INTERVAL_SECONDS = 0.2


def cache_of_checkout(root: Path) -> Path:
    """Return the cache folder of one checkout: two operators must not share one."""
    return cache_root() / "run" / short_hash(root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line options."""

    cluster: str = "local"
    """local, kind or current."""
    auth: str = "none"
    """none or kubernetes."""
    port: int = DEFAULT_PORT
    """Port of the gateway on loopback."""
    folder: Path = ROOT / ".local"
    cache: Path = field(default_factory=lambda: cache_of_checkout(ROOT))
    """Folder outside the checkout that keeps charts between runs."""
    dashboard: bool = False
    """Whether to build the dashboard, beside the programs of the cluster."""


class Session:
    """One `make run`; `close` undoes what `start` did."""

    def __init__(self, options: Options, *, console: Console) -> None:
        self._options = options
        self._console = console
        self._layout = ClusterLayout(options.folder.resolve())
        self._parent_make = ParentMake()
        self._repository = ""
        self._joins_later = False
        self._containers_run = False
        self._dashboard: DashboardBuild | None = None
        self._joining_node: BackgroundProcess | None = None
        self._services: Services | None = None
        self._work = options.cache
        self._stack = ExitStack()

    def start(self) -> None:
        """Start everything and wait until both samples are Ready.

        Raises PreflightFailed, ServiceFailed, SampleFailed, DeadlineExceeded and the errors of tests.localcluster.
        """
        options, progress = self._options, self._console.progress
        self._stack.enter_context(run_lock(self._layout.root))
        check_port_free(options.port)
        if options.dashboard:
            self._dashboard = DashboardBuild(
                (str(ROOT / "hack" / "dashboard"), "build"), folder=ROOT, progress=progress
            )
            self._stack.callback(self._dashboard.stop)
        self._work = self._stack.enter_context(work_folder(options.cache))
        cluster = self._stack.enter_context(self._cluster())
        real = f", with a real node at {cluster.node_address}" if cluster.node_address else ""
        progress(f"cluster: ready at {cluster.server}{real}")
        self._containers_run = options.cluster != "local" or bool(cluster.node_address)
        cluster_setup.link_programs(cluster, self._layout.root / "bin")
        cluster_setup.prepare_cluster(cluster, ROOT)
        progress("XApp definitions, namespaces and roles: applied")
        sample_files = Samples.read(ROOT / "manifests" / "samples")
        if cluster.node_address:
            sample_files = sample_files.on_real_node()
        self._repository = self._stack.enter_context(
            chart_repository(sample_files.charts, preferred_port=samples.REPOSITORY_PORT)
        )
        progress(
            f"chart repository: {self._repository} ({', '.join(chart.file_name for chart in sample_files.charts)})"
        )
        manifest = self._write_samples(sample_files)
        if cluster.advertise_address:
            self._real_node_patch.write_text(samples.real_node_patch())
        gateway = self._stack.enter_context(
            SampleGatewayClient(self.url, token=cluster.token if options.auth == "kubernetes" else None)
        )
        self.wait(self._dashboard_built, what="the build of the dashboard")
        self._stack.callback(self._stop_services)
        self._stack.callback(self._delete_samples, cluster)
        self._services = self._start_services(cluster)
        progress(f"operator and gateway: started (logs: {self._layout.logs}/operator.log, gateway.log)")
        self.wait(gateway.ready, what="the gateway")
        progress(f"gateway: answers at {self.url}")
        gateway.upload(sample_files)
        progress(f"{UPLOADED_XAPP}: uploaded through the gateway")
        cluster.kubectl("apply", "-f", str(manifest))
        progress(f"{APPLIED_XAPP}: applied with kubectl ({manifest})")
        self._wait_samples_ready(gateway)
        self._services.all_started = True

    def run_until_stopped(self) -> None:
        """Let a joining node join, and restart services until a stop is requested. Raises StopRequested."""
        if self._joins_later:
            self._start_joining()
        while True:
            try:
                self.wait(self._report_joining, what="the end")
            except DeadlineExceeded:
                continue

    def close(self) -> None:
        """Stop everything that was started."""
        self._stack.close()

    @property
    def url(self) -> str:
        """Address of the gateway."""
        return f"http://{LOOPBACK}:{self._options.port}"

    @property
    def summary(self) -> str:
        """The addresses and commands that the user needs."""
        folder = self._layout.root
        api = f"\n  xApp's API  {self.url}{samples.METADATA_PATH}" if self._containers_run else ""
        token = f"\n  token       {self._layout.token}" if self._options.auth == "kubernetes" else ""
        metrics = (
            f"\n  metrics     http://{LOOPBACK}:{METRICS_PORT}/metrics" if self._options.port == DEFAULT_PORT else ""
        )
        return f"""
Both sample xApps are Ready after {self._console.elapsed:.0f} s. Where to look:

  dashboard   {self.url}{token}
  gateway     {self.url}/api/xapps   (API docs: {self.url}/api/v1/docs){api}
  cluster     export KUBECONFIG={quote(f"{folder}/kubeconfig")} PATH={quote(f"{folder}/bin")}:$PATH
              kubectl get xapps -A
              helm list -A
  charts      {self._repository}{metrics}
  logs        {self._layout.logs}

Ctrl-C stops all of it.
"""

    def wait(self, probe: Callable[[], bool | None], *, what: str) -> None:
        """Wait for ``probe`` and restart services meanwhile. Raises DeadlineExceeded, ServiceFailed, StopRequested."""

        def restart_and_probe() -> bool | None:
            self._parent_make.raise_if_interrupted()
            if self._services:
                self._services.restart_ended()
            return probe()

        wait_until(restart_and_probe, timeout=_READY_SECONDS, what=what, interval=_INTERVAL_SECONDS)

    def _cluster(self) -> AbstractContextManager[Cluster]:
        name = self._options.cluster
        self._console.progress(f"cluster: starting ({name})")
        return self._local_cluster() if name == "local" else self._other_cluster(choose_provider(name))

    @contextmanager
    def _local_cluster(self) -> Iterator[Cluster]:
        nodes = choose_nodes(folder=self._layout.root, default="auto", may_join=True, progress=self._console.progress)
        local = LocalCluster(self._layout.root, nodes=nodes, progress=self._console.progress)
        self._wait_for_previous_cluster(local)
        cluster = local.start()
        try:
            self._joins_later = JOINING in nodes
            if cluster.node_address:
                local.load_image(self._build_sample_image())
            yield cluster
        finally:
            self._console.progress("cluster: stopping")
            local.stop()

    @contextmanager
    def _other_cluster(self, provider: Provider) -> Iterator[Cluster]:
        folder = self._layout.root
        self._layout.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as undo:
            undo.callback(provider.stop, folder)
            try:
                cluster = provider.start(folder, owner=ProcessIdentity.current())
                image = self._build_sample_image()
                if not provider.load_image(folder, image):
                    self._console.progress(f"the nodes need {IMAGE}, which is in no registry: load {image} into them")
            except ValueError:
                undo.pop_all()
                raise
            except subprocess.CalledProcessError as error:
                raise ClusterFailed(f"{error.cmd}: {str(error.stderr, 'utf-8', 'replace').strip()}") from error
            yield cluster

    def _build_sample_image(self) -> Path:
        return sample_image(Binaries(progress=self._console.progress))

    def _wait_for_previous_cluster(self, local: LocalCluster) -> None:
        """Wait for the cluster of a killed run to stop, which happens some moments after the kill."""
        try:
            wait_until(
                lambda: not local.running, timeout=_LEFTOVER_SECONDS, what="the cluster of an earlier run to end"
            )
        except DeadlineExceeded:
            raise ClusterRunning(
                f"a cluster already runs in {self._layout.root}; stop it with `python -m tests.localcluster down`"
            ) from None

    def _start_services(self, cluster: Cluster) -> Services:
        children = service_specs(
            cluster=cluster,
            auth=self._options.auth,
            port=self._options.port,
            cache=self._options.cache,
            work=self._work,
            namespace=cluster_setup.SYSTEM_NAMESPACE,
        )
        return Services(children, logs=self._layout.logs, folder=ROOT, say=self._console.progress)

    def _stop_services(self) -> None:
        if self._services:
            self._console.progress(f"{OPERATOR} and {GATEWAY}: stopping")
            self._services.stop()

    def _delete_samples(self, cluster: Cluster) -> None:
        """In an existing cluster, delete the samples while the operator still runs."""
        if self._options.cluster != "current":
            return
        self._console.progress("removing the sample xApps; the XApp definitions and the namespaces stay")
        try:
            samples.delete_samples(cluster, timeout=_REMOVE_SECONDS)
        except KubectlFailed as error:
            self._console.progress(f"not removed: {error}")

    def _dashboard_built(self) -> bool:
        return self._dashboard is None or self._dashboard.check()

    def _start_joining(self) -> None:
        """Build the programs of the real node, which then joins; only now, so that it does not delay the samples."""
        process = BackgroundProcess(join_real_node_process(self._layout.root), logs=self._layout.logs, folder=ROOT)
        self._stack.callback(process.stop)
        self._joining_node = process
        self._console.progress(f"real node: building its programs in the background (log: {process.log})")

    def _report_joining(self) -> None:
        """Report once that the real node has joined, or why not."""
        try:
            if self._joining_node is None or not self._joining_node.succeeded():
                return
            self._console.progress(f"real node: joined. {self._how_to_move_samples()}")
        except BackgroundFailed as error:
            log = self._joining_node.log if self._joining_node else ""
            self._console.progress(f"real node: not added, the cluster keeps its simulated nodes: {error} (log: {log})")
        self._joining_node = None

    @property
    def _real_node_patch(self) -> Path:
        return self._layout.root / "samples" / "real-node.patch.yaml"

    def _how_to_move_samples(self) -> str:
        xapps = f"{UPLOADED_XAPP} {APPLIED_XAPP} -n {samples.NAMESPACE}"
        return f"""To move the samples to it:

  export KUBECONFIG={quote(f"{self._layout.root}/kubeconfig")} PATH={quote(f"{self._layout.root}/bin")}:$PATH
  kubectl patch xapp {xapps} --type merge --patch-file {quote(str(self._real_node_patch))}

Then their containers run, and the API of {UPLOADED_XAPP} answers at
{self.url}{samples.METADATA_PATH}
"""

    def _wait_samples_ready(self, gateway: SampleGatewayClient) -> None:
        reported: dict[str, str] = {}

        def all_ready() -> bool:
            states = [self._sample_ready(gateway, name, reported) for name in (UPLOADED_XAPP, APPLIED_XAPP)]
            return all(states)

        try:
            self.wait(all_ready, what="the sample xApps to be Ready")
        except DeadlineExceeded as error:
            raise SampleFailed(
                f"{error}: " + "; ".join(f"{name}: {text}" for name, text in reported.items())
            ) from error

    def _sample_ready(self, gateway: SampleGatewayClient, name: str, reported: dict[str, str]) -> bool:
        record = gateway.record(name)
        if record is None:
            return False
        if record.stalled:
            raise SampleFailed(f"{name} cannot become Ready: {record.message}")
        text = "Ready" if record.ready else f"{record.phase}: {record.message}"
        if reported.get(name) != text:
            reported[name] = text
            self._console.progress(f"{name}: {text}")
        return record.ready

    def _write_samples(self, sample_files: Samples) -> Path:
        """Write the deployed charts, values and manifest to the folder, so that the user can apply them again."""
        folder = self._layout.root / "samples"
        folder.mkdir(parents=True, exist_ok=True)
        for chart in sample_files.charts:
            (folder / chart.file_name).write_bytes(chart.data)
        (folder / "hello-world.values.yaml").write_bytes(sample_files.values)
        manifest = folder / "kpi-store.yaml"
        manifest.write_text(sample_files.manifest_for(self._repository))
        return manifest
