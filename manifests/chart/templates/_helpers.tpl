{{- /* The image by digest, else by tag, else by the version of the chart. */}}
{{- define "xapp-operator.image" -}}
{{- with .Values.image }}
{{- if and .tag .digest }}
{{- fail "image.tag and image.digest are both set, but an image has one of them: remove image.tag" }}
{{- end }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "xapp-operator.labels" -}}
app.kubernetes.io/name: xapp-operator
app.kubernetes.io/component: {{ . }}
{{- end }}

{{- /* The type of the gateway's Service. Refuses what would let clients set headers that the gateway trusts. */}}
{{- define "xapp-operator.serviceType" -}}
{{- with .Values.gateway }}
{{- $behindProxy := or .ingress.enabled .httpRoute.enabled }}
{{- $type := .service.type | default (ternary "ClusterIP" "NodePort" $behindProxy) }}
{{- if and $behindProxy (ne $type "ClusterIP") }}
{{- fail (printf "gateway.service.type is %s, but the gateway trusts the headers of the proxy with gateway.ingress or gateway.httpRoute, and clients could set them: leave gateway.service.type empty" $type) }}
{{- end }}
{{- if and $behindProxy (not .trustedProxies) }}
{{- fail "gateway.ingress and gateway.httpRoute need gateway.trustedProxies: set it to the network of the pods of your Ingress controller or Gateway" }}
{{- end }}
{{- if and .trustedProxies (not $behindProxy) }}
{{- fail "gateway.trustedProxies has an effect only with gateway.ingress or gateway.httpRoute: remove it, or enable one of them" }}
{{- end }}
{{- if and .ingress.host (not .ingress.enabled) }}
{{- fail "gateway.ingress.host has an effect only with gateway.ingress.enabled: set that to true, or remove the host" }}
{{- end }}
{{- if and (or .httpRoute.parentRefs .httpRoute.hostnames) (not .httpRoute.enabled) }}
{{- fail "gateway.httpRoute.parentRefs and hostnames have an effect only with gateway.httpRoute.enabled: set that to true, or remove them" }}
{{- end }}
{{- if and .service.externalTrafficPolicy (eq $type "ClusterIP") }}
{{- fail "gateway.service.externalTrafficPolicy needs a Service of type NodePort or LoadBalancer: remove it" }}
{{- end }}
{{- if and (eq $type "ClusterIP") (not (has (int64 .service.nodePort) (list (int64 0) (int64 31315)))) }}
{{- fail "gateway.service.nodePort needs a Service of type NodePort or LoadBalancer: remove it" }}
{{- end }}
{{- if and .auth.insecureSessions (or .tls.enabled $behindProxy) }}
{{- fail "gateway.auth.insecureSessions allows sessions over plain HTTP, but the gateway is behind HTTPS: remove it" }}
{{- end }}
{{- $type }}
{{- end }}
{{- end }}

{{- /* Environment variables of both processes. */}}
{{- define "xapp-operator.commonEnv" -}}
- {name: XAPP_DEFAULT_SERVICE_ACCOUNT, value: xapp-deployer}
- {name: XAPP_CACHE_DIR, value: /var/cache/xapp-operator}
- {name: XAPP_WORK_DIR, value: /run/xapp-operator/helm}
- name: XAPP_LEADER_ELECTION_NAMESPACE
  valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
- {name: XAPP_METRICS_HOST, value: 0.0.0.0}
{{- with .Values.watchNamespaces }}
- {name: XAPP_NAMESPACES, value: {{ join "," . | quote }}}
{{- end }}
{{- with .Values.networkPolicies }}
{{- if and .extraEgressPorts (not .enabled) }}
{{- fail "networkPolicies.extraEgressPorts has an effect only with networkPolicies.enabled: remove it" }}
{{- end }}
{{- end }}
{{- range $name, $object := .Values.monitoring }}
{{- if hasKey ($object.labels | default dict) "app.kubernetes.io/name" }}
{{- fail (printf "monitoring.%s.labels has app.kubernetes.io/name, which the chart sets itself: remove it" $name) }}
{{- end }}
{{- end }}
{{- if and .Values.watchNamespaces (eq .Values.secretsWatch "cluster") }}
{{- fail "secretsWatch is cluster, but with watchNamespaces the operator watches each namespace on its own: remove secretsWatch" }}
{{- end }}
{{- if and .Values.watchNamespaces .Values.finalizerPolicy.enabled }}
{{- fail "finalizerPolicy.enabled is true, but with watchNamespaces nobody would remove the finalizer from XApps of other namespaces: set it to false" }}
{{- end }}
{{- if .Values.rbac.namespaced }}
{{- if not .Values.watchNamespaces }}
{{- fail "rbac.namespaced is true, but watchNamespaces is empty: name the namespaces" }}
{{- end }}
{{- if not .Values.clusterAdvertiseAddress }}
{{- fail "clusterAdvertiseAddress is empty, but with rbac.namespaced the operator may not read the nodes: set the address of the cluster" }}
{{- end }}
{{- end }}
{{- range $word := list "services" "nodes" }}
{{- if and $.Values.rbac.namespaced (has $word $.Values.repositoryDeniedNetworks) }}
{{- fail (printf "repositoryDeniedNetworks has %s, but with rbac.namespaced the operator may not read those networks: name them as CIDRs" $word) }}
{{- end }}
{{- end }}
{{- $private := list "apiserver" "pods" "10.0.0.0/8" "100.64.0.0/10" "172.16.0.0/12" "192.168.0.0/16" "fc00::/7" }}
{{- with .Values.repositoryDeniedNetworks | default (ternary $private list .Values.rbac.namespaced) }}
- {name: XAPP_REPOSITORY_DENIED_NETWORKS, value: {{ join "," . | quote }}}
{{- end }}
{{- with .Values.clusterAdvertiseAddress }}
- {name: XAPP_CLUSTER_ADVERTISE_ADDRESS, value: {{ . | quote }}}
{{- end }}
{{- if ne .Values.logLevel "INFO" }}
- {name: XAPP_LOG_LEVEL, value: {{ .Values.logLevel | quote }}}
{{- end }}
{{- end }}

{{- define "xapp-operator.operatorEnv" -}}
{{ include "xapp-operator.commonEnv" . }}
{{- with .Values.operator.helm }}
- {name: XAPP_HELM_MEMORY, value: {{ .memoryBytes | int64 | quote }}}
- {name: XAPP_HELM_CONCURRENCY, value: {{ .concurrency | int64 | quote }}}
- {name: XAPP_HELM_WAITING, value: {{ .waiting | int64 | quote }}}
{{- end }}
{{- if eq .Values.secretsWatch "cluster" }}
- {name: XAPP_SECRETS_WATCH, value: cluster}
{{- end }}
{{- end }}

{{- define "xapp-operator.gatewayEnv" -}}
{{ include "xapp-operator.commonEnv" . }}
- {name: XAPP_HOST, value: 0.0.0.0}
- {name: XAPP_GATEWAY_PROBE_PORT, value: "8080"}
- name: XAPP_SESSION_NAMESPACE
  valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
{{- with .Values.gateway }}
{{- if .tls.enabled }}
- {name: XAPP_TLS_CERT, value: /etc/xapp-operator/tls/tls.crt}
- {name: XAPP_TLS_KEY, value: /etc/xapp-operator/tls/tls.key}
{{- end }}
{{- if .trustedProxies }}
# The proxy overwrites X-Forwarded-Proto.
- {name: XAPP_TRUST_FORWARDED_PROTO, value: "true"}
- {name: XAPP_TRUSTED_PROXIES, value: {{ join "," .trustedProxies | quote }}}
{{- end }}
{{- if .auth.insecureSessions }}
- {name: XAPP_INSECURE_SESSIONS, value: "true"}
{{- end }}
{{- if ne (int64 .auth.sessionMaxSeconds) 43200 }}
- {name: XAPP_SESSION_MAX_SECONDS, value: {{ .auth.sessionMaxSeconds | int64 | quote }}}
{{- end }}
{{- with .auth.allowedHosts }}
- {name: XAPP_ALLOWED_HOSTS, value: {{ join "," . | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- /* The variables of a container (`own`, as YAML) and those of the values (`extra`, from the value `path`). */}}
{{- define "xapp-operator.env" -}}
{{- $all := fromYamlArray .own }}
{{- /* Settings for which the chart has a value, a port, a mount or a right. */}}
{{- $names := list
   "XAPP_ALLOWED_HOSTS" "XAPP_AUTH" "XAPP_CACHE_DIR" "XAPP_CLUSTER_ADVERTISE_ADDRESS" "XAPP_DEFAULT_SERVICE_ACCOUNT"
   "XAPP_GATEWAY_PROBE_PORT" "XAPP_HELM_CONCURRENCY" "XAPP_HELM_MEMORY" "XAPP_HELM_WAITING" "XAPP_HOST"
   "XAPP_INSECURE_SESSIONS" "XAPP_LEADER_ELECTION_NAMESPACE" "XAPP_LOG_LEVEL" "XAPP_METRICS_HOST" "XAPP_METRICS_PORT"
   "XAPP_NAMESPACES" "XAPP_PORT" "XAPP_PROBE_HOST" "XAPP_PROBE_PORT" "XAPP_REPOSITORY_DENIED_NETWORKS"
   "XAPP_SECRETS_WATCH" "XAPP_SESSION_MAX_SECONDS" "XAPP_SESSION_NAMESPACE" "XAPP_SESSION_SECRET"
   "XAPP_SIGNATURE_KEYS" "XAPP_TLS_CERT" "XAPP_TLS_KEY" "XAPP_TRUSTED_PROXIES" "XAPP_TRUST_FORWARDED_PROTO"
   "XAPP_WORK_DIR"
}}
{{- range $all }}{{ $names = append $names .name }}{{ end }}
{{- range .extra }}
{{- if has .name $names }}
{{- fail (printf "%s sets %s, which belongs to the chart or is there twice: remove it. If the chart has a value for it, use that." $.path .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- $all = append $all . }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{- /* What both pods have in common, without their containers and volumes. */}}
{{- define "xapp-operator.pod" -}}
{{- $root := .root -}}
automountServiceAccountToken: true
# Services of the namespace would set variables such as XAPP_GATEWAY_PORT.
enableServiceLinks: false
# The operator: a running helm process has 10 s to end. The gateway: 5 s of preStop, 5 s to finish requests.
terminationGracePeriodSeconds: 30
{{ include "xapp-operator.podSecurity" $root }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "xapp-operator.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- with .Values.runAsUser }}
  runAsUser: {{ int64 . }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "xapp-operator.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "xapp-operator.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: probe}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: probe}
  periodSeconds: 10
readinessProbe:
  httpGet: {path: /readyz, port: probe}
  periodSeconds: 5
{{- end }}

{{- define "xapp-operator.podAnnotations" -}}
{{- $own := dict "prometheus.io/scrape" "true" "prometheus.io/port" "9090" "prometheus.io/path" "/metrics" }}
{{- mergeOverwrite $own (.podAnnotations | default dict) | toYaml }}
{{- end }}

{{- define "xapp-operator.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: xapp-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: {{ include "xapp-operator.labels" .component | nindent 6 }}
{{- end }}
