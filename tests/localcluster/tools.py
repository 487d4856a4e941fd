"""The programs that the local cluster and the tests need: version, release and Go package of each.

Versions are set here and in the ``go.mod`` files under ``gotools/``; a unit test compares them.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

GOTOOLS = Path(__file__).resolve().parent / "gotools"
SAMPLES = Path(__file__).resolve().parents[2] / "manifests" / "samples" / "xapps"

KUBERNETES = "v1.36.3"
ETCD = "v3.7.3"
HELM = "v4.3.1"
KWOK = "v0.8.0"
REGISTRY = "v0.22.1"
CONTAINERD = "v2.4.2"
RUNC = "v1.5.2"
CNI_PLUGINS = "v1.9.1"
GOVULNCHECK = "v1.8.0"
ACTIONLINT = "v1.7.12"
PROMETHEUS = "v0.316.0"
PROMETHEUS_RELEASE = "3.16.0"
"""The name of the release whose Go module has the version PROMETHEUS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An official release of one tool, with the checksum file that its publisher provides.

    ``{os}`` and ``{arch}`` in the URLs are Go's names of the platform. The checksum comes from the same host as the
    release, so it verifies the download and not the publisher; ``go.sum`` verifies a build from the Go module. A tool
    without a published checksum has no Release and is always built.
    """

    url: str
    checksum_url: str
    member: str | None = None
    """Path of the program inside a .tar.gz, or None if the download is the program itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One program: its name, version, release and Go package."""

    name: str
    version: str
    module: str
    """Name of the folder whose go.mod pins the version. Tools of one module are built together."""
    package: str
    ldflags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Build tags of the module."""
    debian_packages: tuple[str, ...] = ()
    """Packages that a build with cgo needs. Without any, cgo is off."""
    version_arguments: tuple[str, ...] = ()
    """With these it prints its version. Without any, the program on PATH is not used."""
    release: Release | None = None
    in_kubebuilder_assets: bool = False
    modules: Path = GOTOOLS
    """The parent folder of the module's folder."""


def _kubernetes(name: str, *, in_kubebuilder_assets: bool = False) -> Tool:
    url = f"https://dl.k8s.io/release/{KUBERNETES}/bin/{{os}}/{{arch}}/{name}"
    major, minor = KUBERNETES.removeprefix("v").split(".")[:2]
    version = "k8s.io/component-base/version"
    return Tool(
        name=name,
        version=KUBERNETES,
        module="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        ldflags=(
            f"-X {version}.gitVersion={KUBERNETES}",
            f"-X {version}.gitMajor={major}",
            f"-X {version}.gitMinor={minor}",
            f"-X {version}.gitTreeState=clean",
        ),
        version_arguments=("version", "--client") if name == "kubectl" else ("--version",),
        release=Release(url=url, checksum_url=f"{url}.sha256"),
        in_kubebuilder_assets=in_kubebuilder_assets,
    )


def _etcd() -> Tool:
    base = f"https://github.com/etcd-io/etcd/releases/download/{ETCD}"
    return Tool(
        name="etcd",
        version=ETCD,
        module="etcd",
        package="go.etcd.io/etcd/server/v3",
        version_arguments=("--version",),
        release=Release(
            url=f"{base}/etcd-{ETCD}-{{os}}-{{arch}}.tar.gz",
            checksum_url=f"{base}/SHA256SUMS",
            member=f"etcd-{ETCD}-{{os}}-{{arch}}/etcd",
        ),
        in_kubebuilder_assets=True,
    )


def _helm() -> Tool:
    url = f"https://get.helm.sh/helm-{HELM}-{{os}}-{{arch}}.tar.gz"
    return Tool(
        name="helm",
        version=HELM,
        module="helm",
        package="helm.sh/helm/v4/cmd/helm",
        ldflags=(f"-X helm.sh/helm/v4/internal/version.version={HELM}",),
        version_arguments=("version", "--short"),
        release=Release(url=url, checksum_url=f"{url}.sha256sum", member="{os}-{arch}/helm"),
    )


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _etcd(),
        _kubernetes("kube-apiserver", in_kubebuilder_assets=True),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubectl", in_kubebuilder_assets=True),
        Tool(
            name="kwok",
            version=KWOK,
            module="kubernetes",  # of its 974 packages, 898 are those of Kubernetes
            package="sigs.k8s.io/kwok/cmd/kwok",
            version_arguments=("--version",),
        ),
        _helm(),
        Tool(
            name="registry",
            version=REGISTRY,
            module="registry",
            package="github.com/google/go-containerregistry/cmd/registry",
        ),
    )
}


def _containerd(name: str) -> Tool:
    base = f"https://github.com/containerd/containerd/releases/download/{CONTAINERD}"
    url = f"{base}/containerd-static-{CONTAINERD.removeprefix('v')}-{{os}}-{{arch}}.tar.gz"
    return Tool(
        name=name,
        version=CONTAINERD,
        module="containerd",
        package=f"github.com/containerd/containerd/v2/cmd/{name}",
        ldflags=(f"-X github.com/containerd/containerd/v2/version.Version={CONTAINERD}",),
        tags=("no_btrfs", "no_zfs", "no_devmapper", "no_aufs"),
        version_arguments=("-v",),
        release=Release(url=url, checksum_url=f"{url}.sha256sum", member=f"bin/{name}"),
    )


def _runc() -> Tool:
    base = f"https://github.com/opencontainers/runc/releases/download/{RUNC}"
    return Tool(
        name="runc",
        version=RUNC,
        module="runc",
        package="github.com/opencontainers/runc",
        # static, so that the cached program needs no libraries of the machine
        ldflags=(f"-X main.version={RUNC.removeprefix('v')}", "-linkmode=external", "-extldflags=-static"),
        tags=("seccomp", "netgo", "osusergo"),
        debian_packages=("gcc", "libc6-dev", "libseccomp-dev", "pkg-config"),
        version_arguments=("--version",),
        release=Release(url=f"{base}/runc.{{arch}}", checksum_url=f"{base}/runc.sha256sum"),
    )


def _cni(name: str, kind: str) -> Tool:
    base = f"https://github.com/containernetworking/plugins/releases/download/{CNI_PLUGINS}"
    url = f"{base}/cni-plugins-{{os}}-{{arch}}-{CNI_PLUGINS}.tgz"
    return Tool(
        name=name,
        version=CNI_PLUGINS,
        module="cni",
        package=f"github.com/containernetworking/plugins/plugins/{kind}/{name}",
        release=Release(url=url, checksum_url=f"{url}.sha256", member=f"./{name}"),
    )


_SOURCE_SUFFIXES = {".go", ".mod", ".sum", ".json"}
"""Suffixes of the source files of this project's programs."""


def _local_program(name: str, *, modules: Path = GOTOOLS, package: str = "gotools") -> Tool:
    """Describe a program of this project; the digest of its source is its version."""
    sources = sorted(path for path in (modules / name).iterdir() if path.suffix in _SOURCE_SUFFIXES)
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return Tool(
        name=name, version=digest[:12], module=name, package=f"xapp-operator.io/{package}/{name}", modules=modules
    )


NODE_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        _runc(),  # first: where its Debian packages are missing, nothing else is built in vain
        _kubernetes("kubelet"),
        _kubernetes("kube-proxy"),
        _containerd("containerd"),
        _containerd("containerd-shim-runc-v2"),
        _containerd("ctr"),
        _cni("bridge", "main"),
        _cni("loopback", "main"),
        _cni("host-local", "ipam"),
        _cni("portmap", "meta"),
        _local_program("pause"),
    )
}
"""The programs of a real node, built only on demand."""

KPI_MONITOR = _local_program("kpi-monitor", modules=SAMPLES, package="samples")
"""The program of the sample xApps."""

TEST_TOOLS: dict[str, Tool] = {tool.name: tool for tool in (_local_program("testpod"), KPI_MONITOR)}
"""The programs in containers of tests and samples, built only on demand."""


def _promtool() -> Tool:
    base = f"https://github.com/prometheus/prometheus/releases/download/v{PROMETHEUS_RELEASE}"
    name = f"prometheus-{PROMETHEUS_RELEASE}.{{os}}-{{arch}}"
    return Tool(
        name="promtool",
        version=PROMETHEUS,
        module="promtool",
        package="github.com/prometheus/prometheus/cmd/promtool",
        # Without the discovery of targets, which is most of the sources. The packages that are left have the versions
        # of helm's go.mod, so that more than half of them are compiled already.
        tags=("remove_all_sd",),
        release=Release(url=f"{base}/{name}.tar.gz", checksum_url=f"{base}/sha256sums.txt", member=f"{name}/promtool"),
    )


CHECK_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="govulncheck",
            version=GOVULNCHECK,
            module="govulncheck",
            package="golang.org/x/vuln/cmd/govulncheck",
        ),
        Tool(
            name="actionlint",
            version=ACTIONLINT,
            module="actionlint",
            package="github.com/rhysd/actionlint/cmd/actionlint",
            ldflags=(f"-X github.com/rhysd/actionlint.version={ACTIONLINT}",),
        ),
        _promtool(),
    )
}
"""The programs of `make audit`, `make workflows` and the tests of the alerts, built only on demand."""

BUILD_CPU_SECONDS = {
    "actionlint": 20,
    "cni": 20,
    "containerd": 105,
    "etcd": 75,
    "govulncheck": 30,
    "helm": 160,
    "kubelet": 50,
    "kubernetes": 450,
    "promtool": 75,
    "runc": 20,
}
"""About how long one core builds all tools of a module, and what a single tool adds to it. Others take seconds."""

ALL_TOOLS = {**TOOLS, **NODE_TOOLS, **TEST_TOOLS, **CHECK_TOOLS}

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl")
