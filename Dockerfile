# One image for operator and gateway: the arguments choose (`run`, `gateway`).
#
# Base images are pinned by digest. `make base-images` prints the current digests. Everything installed has a hash in a
# lock file, and is a wheel, so that no build requirement is fetched on the way.

FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS helm
WORKDIR /src
COPY tests/localcluster/gotools/helm/go.mod tests/localcluster/gotools/helm/go.sum ./
RUN version=$(go list -m -f '{{.Version}}' helm.sh/helm/v4) \
 && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath \
    -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version" -o /out/helm helm.sh/helm/v4/cmd/helm

FROM python:3.13.16-slim-bookworm@sha256:a1165e272e578941b84abc79e4ab38a0305cd12803a5c4247979ac7655f4d641 AS python

FROM python AS package
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ONLY_BINARY=:all:
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
COPY hack/requirements-node.lock hack/
RUN python -m venv --without-pip /opt/xapp-operator \
 && pip --python /opt/xapp-operator/bin/python install --require-hashes -r requirements.lock \
 && python -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes -r requirements-build.lock -r hack/requirements-node.lock
COPY pyproject.toml README.md LICENSE ./
COPY hack/dashboard hack/node hack/hatch_dashboard.py hack/
COPY operator/dashboard operator/dashboard
COPY operator/xapp_operator operator/xapp_operator
RUN /opt/build/bin/python -m hatchling build -t wheel -d /dist \
 && pip --python /opt/xapp-operator/bin/python install --no-index --no-deps /dist/*.whl

# The base image without pip, apt and dpkg, and without setuid and setgid bits. The list of Debian packages
# (/var/lib/dpkg/status) stays for scanners.
FROM python AS files
COPY --from=helm /out/helm /usr/local/bin/helm
COPY --from=package /opt/xapp-operator /opt/xapp-operator
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip /usr/local/lib/python3*/site-packages/* \
 && rm -rf /usr/bin/apt* /usr/bin/dpkg* /usr/sbin/dpkg* /usr/lib/apt /usr/lib/dpkg /usr/lib/*/libapt-* /etc/apt /var/lib/apt \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# One layer, so that no lower layer contains what was removed.
FROM scratch
COPY --from=files / /
ARG VERSION=""
ARG COMMIT=""
LABEL org.opencontainers.image.title="xapp-operator" \
      org.opencontainers.image.description="Deploys, watches and upgrades xApps on the Kubernetes cluster of a near-RT RIC" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
ENV PATH=/opt/xapp-operator/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    XAPP_COMMIT=$COMMIT
USER 65532:65532
WORKDIR /tmp
EXPOSE 31315 8080 9090
ENTRYPOINT ["xapp-operator"]
CMD ["run"]
