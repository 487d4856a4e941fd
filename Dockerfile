# One image for operator and gateway: the arguments choose (`run`, `gateway`).

FROM golang:1.26-bookworm AS helm
WORKDIR /src
COPY tests/localcluster/gotools/helm/go.mod tests/localcluster/gotools/helm/go.sum ./
RUN version=$(go list -m -f '{{.Version}}' helm.sh/helm/v4) \
 && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath \
    -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version" -o /out/helm helm.sh/helm/v4/cmd/helm

FROM python:3.13-slim-bookworm AS package
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /opt/xapp-operator \
 && /opt/xapp-operator/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
RUN pip install --no-cache-dir "hatchling>=1.27"
COPY pyproject.toml README.md LICENSE ./
COPY operator/xapp_operator operator/xapp_operator
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/xapp-operator/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM python:3.13-slim-bookworm
COPY --from=helm /out/helm /usr/local/bin/helm
COPY --from=package /opt/xapp-operator /opt/xapp-operator
ENV PATH=/opt/xapp-operator/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /tmp
EXPOSE 31315 8080
ENTRYPOINT ["xapp-operator"]
CMD ["run"]
