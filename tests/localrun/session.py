"""`make run` from the first line to the last: what is started in which order, and ended in the reverse."""

import hashlib
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
from tests.localcluster.layout import Layout
from tests.localcluster.ports import LOOPBACK
from tests.localcluster.processes import Identity
from tests.localcluster.providers import Provider, choose_provider
from tests.localcluster.waiting import DeadlineExceeded, wait_until
from tests.localrun import provision, samples
from tests.localrun.console import Console
from tests.localrun.guards import check_port_free, only_one
from tests.localrun.image import IMAGE, sample_image
from tests.localrun.repository import chart_repository
from tests.localrun.samples import APPLIED, UPLOADED, Gateway, SampleFailed, Samples
from tests.localrun.services import GATEWAY, OPERATOR, Services, specs
from tests.localrun.stopping import Make

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_PORT = 31315

_READY_SECONDS = 300.0
"""For each step that waits: enough for a cluster that pulls images over a slow line."""
_REMOVE_SECONDS = 8.0
_LEFTOVER_SECONDS = 10.0
_INTERVAL_SECONDS = 0.2


def cache_of_checkout(root: Path) -> Path:
    """Return the cache folder of one checkout; two operators must not share one."""
    return cache_root() / "run" / hashlib.sha256(str(root).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person chooses."""

    cluster: str = "local"
    """local, kind or current."""
    auth: str = "none"
    """none or kubernetes."""
    port: int = DEFAULT_PORT
    """Of the gateway, on loopback."""
    folder: Path = ROOT / ".local"
    cache: Path = field(default_factory=lambda: cache_of_checkout(ROOT))
    """Where charts are kept between runs: outside the checkout."""


class Session:
    """One `make run`; whatever start did, close undoes it."""

    def __init__(self, options: Options, *, console: Console) -> None:
        self._options = options
        self._console = console
        self._layout = Layout(options.folder.resolve())
        self._make = Make()
        self._repository = ""
        self._containers_run = False
        self._services: Services | None = None
        self._stack = ExitStack()

    def start(self) -> None:
        """Start everything and wait until both samples are Ready.

        Raises RunRefused, ServiceFailed, SampleFailed, DeadlineExceeded and what tests.localcluster raises.
        """
        options, say = self._options, self._console.say
        self._stack.enter_context(only_one(self._layout.root))
        check_port_free(options.port)
        cluster = self._stack.enter_context(self._cluster())
        real = f", with a real node at {cluster.node_address}" if cluster.node_address else ""
        say(f"cluster: ready at {cluster.server}{real}")
        self._containers_run = options.cluster != "local" or bool(cluster.node_address)
        provision.link_programs(cluster, self._layout.root / "bin")
        provision.prepare_cluster(cluster, ROOT)
        say("XApp definitions, namespaces and roles: applied")
        sample_files = Samples.read(ROOT / "manifests" / "samples")
        if cluster.node_address:
            sample_files = sample_files.on_real_node()
        self._repository = self._stack.enter_context(
            chart_repository(sample_files.charts, preferred_port=samples.REPOSITORY_PORT)
        )
        say(f"chart repository: {self._repository} ({', '.join(chart.file_name for chart in sample_files.charts)})")
        manifest = self._write_samples(sample_files)
        gateway = self._stack.enter_context(
            Gateway(self.url, token=cluster.token if options.auth == "kubernetes" else None)
        )
        self._stack.callback(self._stop_services)
        self._stack.callback(self._leave_cluster_clean, cluster)
        self._services = self._start_services(cluster)
        say(f"operator and gateway: started (logs: {self._layout.logs}/operator.log, gateway.log)")
        self.wait(gateway.ready, what="the gateway")
        say(f"gateway: answers at {self.url}")
        gateway.upload(sample_files)
        say(f"{UPLOADED}: uploaded through the gateway")
        cluster.kubectl("apply", "-f", str(manifest))
        say(f"{APPLIED}: applied with kubectl ({manifest})")
        self._await_ready(gateway)
        self._services.settled = True

    def stay(self) -> None:
        """Care for the children until somebody asks for the end, which comes as the exception Stop."""
        while True:
            try:
                self.wait(lambda: None, what="the end")
            except DeadlineExceeded:
                continue

    def close(self) -> None:
        """End everything that was started."""
        self._stack.close()

    @property
    def url(self) -> str:
        """Address of the gateway."""
        return f"http://{LOOPBACK}:{self._options.port}"

    @property
    def closing_words(self) -> str:
        """Tell where to look."""
        folder = self._layout.root
        xapp = f"/api/xapps/{samples.NAMESPACE}/{UPLOADED}/api/metadata"
        api = f"\n  xApp's API  {self.url}{xapp}" if self._containers_run else ""
        token = f"\n  token       {self._layout.token}" if self._options.auth == "kubernetes" else ""
        return f"""
Both sample xApps are Ready after {self._console.elapsed:.0f} s. Where to look:

  gateway     {self.url}/api/xapps   (API docs: {self.url}/api/v1/docs){token}{api}
  cluster     export KUBECONFIG={quote(f"{folder}/kubeconfig")} PATH={quote(f"{folder}/bin")}:$PATH
              kubectl get xapps -A
              helm list -A
  charts      {self._repository}
  logs        {self._layout.logs}

Ctrl-C stops all of it.
"""

    def wait(self, probe: Callable[[], bool | None], *, what: str) -> None:
        """Wait for something while caring for the children. Raises DeadlineExceeded, ServiceFailed, Stop."""

        def tend_and_probe() -> bool | None:
            self._make.check()
            if self._services:
                self._services.tend()
            return probe()

        wait_until(tend_and_probe, timeout=_READY_SECONDS, what=what, interval=_INTERVAL_SECONDS)

    def _cluster(self) -> AbstractContextManager[Cluster]:
        name = self._options.cluster
        self._console.say(f"cluster: starting ({name})")
        return self._local_cluster() if name == "local" else self._other_cluster(choose_provider(name))

    @contextmanager
    def _local_cluster(self) -> Iterator[Cluster]:
        nodes = choose_nodes(folder=self._layout.root, default="auto", progress=self._console.say)
        local = LocalCluster(self._layout.root, nodes=nodes, progress=self._console.say)
        self._await_end_of_killed_run(local)
        cluster = local.start()
        try:
            if cluster.node_address:
                local.load_image(self._image())
            yield cluster
        finally:
            self._console.say("cluster: stopping")
            local.stop()

    @contextmanager
    def _other_cluster(self, provider: Provider) -> Iterator[Cluster]:
        folder = self._layout.root
        self._layout.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as undo:
            undo.callback(provider.stop, folder)
            try:
                cluster = provider.start(folder, owner=Identity.current())
                image = self._image()
                if not provider.load_image(folder, image):
                    self._console.say(f"the nodes need {IMAGE}, which is in no registry: bring them {image}")
            except ValueError:
                undo.pop_all()
                raise
            except subprocess.CalledProcessError as error:
                raise ClusterFailed(f"{error.cmd}: {str(error.stderr, 'utf-8', 'replace').strip()}") from error
            yield cluster

    def _image(self) -> Path:
        return sample_image(Binaries(progress=self._console.say))

    def _await_end_of_killed_run(self, local: LocalCluster) -> None:
        """A run that was killed takes its cluster with it, some moments later."""
        try:
            wait_until(
                lambda: not local.running, timeout=_LEFTOVER_SECONDS, what="the cluster of an earlier run to end"
            )
        except DeadlineExceeded:
            raise ClusterRunning(
                f"a cluster already runs in {self._layout.root}; end it with `python -m tests.localcluster down`"
            ) from None

    def _start_services(self, cluster: Cluster) -> Services:
        children = specs(
            cluster=cluster,
            auth=self._options.auth,
            port=self._options.port,
            cache=self._options.cache,
            namespace=provision.SYSTEM_NAMESPACE,
        )
        return Services(children, logs=self._layout.logs, folder=ROOT, say=self._console.say)

    def _stop_services(self) -> None:
        if self._services:
            self._console.say(f"{OPERATOR} and {GATEWAY}: stopping")
            self._services.stop()

    def _leave_cluster_clean(self, cluster: Cluster) -> None:
        """In somebody's own cluster the samples go while the operator is still there to remove them."""
        if self._options.cluster != "current":
            return
        self._console.say("removing the sample xApps; the XApp definitions and the namespaces stay")
        try:
            samples.remove(cluster, timeout=_REMOVE_SECONDS)
        except KubectlFailed as error:
            self._console.say(f"not removed: {error}")

    def _await_ready(self, gateway: Gateway) -> None:
        told: dict[str, str] = {}

        def all_ready() -> bool:
            states = [self._sample_ready(gateway, name, told) for name in (UPLOADED, APPLIED)]
            return all(states)

        try:
            self.wait(all_ready, what="the sample xApps to be Ready")
        except DeadlineExceeded as error:
            raise SampleFailed(f"{error}: " + "; ".join(f"{name}: {text}" for name, text in told.items())) from error

    def _sample_ready(self, gateway: Gateway, name: str, told: dict[str, str]) -> bool:
        record = gateway.record(name)
        if record is None:
            return False
        if record.stalled:
            raise SampleFailed(f"{name} cannot become Ready: {record.message}")
        text = "Ready" if record.ready else f"{record.phase}: {record.message}"
        if told.get(name) != text:
            told[name] = text
            self._console.say(f"{name}: {text}")
        return record.ready

    def _write_samples(self, sample_files: Samples) -> Path:
        """Write the packed charts, the values and the manifest that are deployed, to try them again by hand."""
        folder = self._layout.root / "samples"
        folder.mkdir(parents=True, exist_ok=True)
        for chart in sample_files.charts:
            (folder / chart.file_name).write_bytes(chart.data)
        (folder / "hello-world.values.yaml").write_bytes(sample_files.values)
        manifest = folder / "kpi-store.yaml"
        manifest.write_text(sample_files.manifest_for(self._repository))
        return manifest
