{{/* Name of this release's objects that belong to the cluster. */}}
{{- define "caravan.clusterName" -}}
{{ if eq .Values.scope "Namespace" }}caravan-operator-{{ .Release.Namespace }}{{ else }}caravan-operator{{ end }}
{{- end }}

{{/* The same of the job service's. */}}
{{- define "caravan.serviceClusterName" -}}
{{ if eq .Values.scope "Namespace" }}caravan-service-{{ .Release.Namespace }}{{ else }}caravan-service{{ end }}
{{- end }}

{{/* Image of the program whose key is given: (list . "operator"). */}}
{{- define "caravan.image" -}}
{{- $root := index . 0 }}
{{- $program := index . 1 }}
{{- with $root.Values.images -}}
{{ .registry }}/{{ get . $program }}
{{- with dig "digests" $program "" . }}@{{ . }}{{ else }}:{{ .tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* What the operator is told. */}}
{{- define "caravan.arguments" -}}
{{- $arguments := list "--read-nodes=true" }}
{{- if eq .Values.scope "Namespace" }}
{{- $arguments = list (printf "--namespace=%s" .Release.Namespace) "--read-nodes=false" }}
{{- end }}
{{- range .Values.workers.dns }}
{{- $arguments = append $arguments (printf "--dns=%s" .) }}
{{- end }}
{{- if .Values.assignedUsers }}
{{- $arguments = append $arguments "--assigned-users" }}
{{- end }}
{{- with .Values.workers.agentPatienceSeconds }}
{{- $arguments = append $arguments (printf "--agent-patience-seconds=%d" (int .)) }}
{{- end }}
{{- if not (kindIs "invalid" .Values.workers.coresPerGpu) }}
{{- $arguments = append $arguments (printf "--cores-per-gpu=%d" (int .Values.workers.coresPerGpu)) }}
{{- end }}
{{- if .Values.workers.hostNetwork.allowed }}
{{- $arguments = append $arguments "--allow-host-network" }}
{{- end }}
{{- if include "caravan.keepsServiceCertificate" . }}
{{- $arguments = append $arguments (printf "--service-names=%s" (include "caravan.serviceNames" . | fromJsonArray | join ",")) }}
{{- end }}
{{- if .Values.service.enabled }}
{{- $arguments = append $arguments "--live-listen=[::]:9444" }}
{{- end }}
{{- if ne .Values.operator.logLevel "info" }}
{{- $arguments = append $arguments (printf "--log-level=%s" .Values.operator.logLevel) }}
{{- end }}
{{- toJson $arguments }}
{{- end }}

{{/* "true" where the operator keeps the job service's certificate. */}}
{{- define "caravan.keepsServiceCertificate" -}}
{{- $given := or .Values.service.certificate.secretName .Values.service.certificate.certManager.issuerName }}
{{- if and .Values.service.enabled .Values.operator.enabled (not $given) }}true{{ end }}
{{- end }}

{{/* DNS names and addresses that the job service's certificate is for. */}}
{{- define "caravan.serviceNames" -}}
{{- $namespace := .Release.Namespace }}
{{- $own := list "caravan-service" (printf "caravan-service.%s" $namespace) (printf "caravan-service.%s.svc" $namespace) }}
{{- concat $own .Values.service.names | uniq | toJson }}
{{- end }}

{{/* The Secret with that certificate. */}}
{{- define "caravan.serviceSecret" -}}
{{- $certificate := .Values.service.certificate }}
{{- if $certificate.secretName }}{{ $certificate.secretName }}
{{- else if $certificate.certManager.issuerName }}caravan-service-tls
{{- else }}caravan-service-certificate
{{- end }}
{{- end }}

{{/* What the job service is told. */}}
{{- define "caravan.serviceArguments" -}}
{{- $arguments := list "--tls-certificate=/etc/caravan-service/tls.crt" "--tls-key=/etc/caravan-service/tls.key" }}
{{- $arguments = append $arguments "--http-listen=[::]:8444" }}
{{- $arguments = append $arguments (printf "--audiences=%s" (join "," .Values.service.audiences)) }}
{{- if eq .Values.scope "Namespace" }}
{{- $arguments = append $arguments (printf "--namespace=%s" .Release.Namespace) }}
{{- end }}
{{- if .Values.operator.enabled }}
{{- $arguments = append $arguments (printf "--operator=caravan-operator.%s.svc:9444" .Release.Namespace) }}
{{- range $flag, $file := dict "ca" "ca.crt" "certificate" "client.crt" "key" "client.key" }}
{{- $arguments = append $arguments (printf "--operator-%s=/etc/caravan-operator/%s" $flag $file) }}
{{- end }}
{{- end }}
{{- range $limit, $flag := dict "requestsPerSecond" "requests-per-second" "burst" "burst" "streams" "streams" }}
{{- with index ($.Values.service.limits | default dict) $limit }}
{{- $arguments = append $arguments (printf "--%s=%d" $flag (int .)) }}
{{- end }}
{{- end }}
{{- if .Values.service.clientAuthorities }}
{{- $arguments = append $arguments "--client-ca=/etc/caravan-callers/ca.crt" }}
{{- end }}
{{- if ne .Values.service.logLevel "info" }}
{{- $arguments = append $arguments (printf "--log-level=%s" .Values.service.logLevel) }}
{{- end }}
{{- toJson $arguments }}
{{- end }}

{{/* Where pods of a program go: (list NAME VALUES-OF-IT). */}}
{{- define "caravan.placement" -}}
{{- with index . 1 }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app.kubernetes.io/name: {{ index . 0 }}
{{- end }}

{{- define "caravan.probes" -}}
livenessProbe:
  httpGet:
    path: /healthz
    port: probes
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* Of network policies: whom our programs connect to. */}}
{{- define "caravan.egress" -}}
- ports: # names; the second port is that of OpenShift's pods
  - protocol: UDP
    port: 53
  - protocol: TCP
    port: 53
  - protocol: UDP
    port: 5353
  - protocol: TCP
    port: 5353
- ports: # the API server, whose address no selector knows
  {{- range .Values.networkPolicy.apiServerPorts }}
  - protocol: TCP
    port: {{ . }}
  {{- end }}
{{- end }}

{{/* As the standard restricted wants pods. */}}
{{- define "caravan.podSecurity" -}}
runAsNonRoot: true
{{- if not .Values.assignedUsers }}
runAsUser: 65532
runAsGroup: 65532
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "caravan.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* "true" unless somebody says no. What is absent of the values, here and elsewhere, was kept (--reuse-values) from a release
     of a chart that did not have it yet, and is as values.yaml says; but without images.workerCuda all jobs keep their one image. */}}
{{- define "caravan.wantsMonitoring" -}}
{{- if dig "enabled" true .Values.monitoring }}true{{ end }}
{{- end }}

{{/* "true" where the cluster has the Prometheus operator's API, and the release may use it. */}}
{{- define "caravan.hasMonitoring" -}}
{{- if and (include "caravan.wantsMonitoring" .) (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}true{{ end }}
{{- end }}

{{/* Namespaces with another operator for the same jobs, as far as the cluster is asked, which `helm template` does not do. One in our
     own has our names, which Helm refuses; who has no rights in the cluster (clusterObjects.own) may not look there, and is not seen. */}}
{{- define "caravan.otherOperators" -}}
{{- $namespaces := list }}
{{- if eq .Values.scope "Cluster" }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items }}
{{- if hasPrefix "caravan-operator-" .metadata.name }}
{{- range .subjects }}{{ $namespaces = append $namespaces .namespace }}{{ end }}
{{- end }}
{{- end }}
{{- else if .Values.clusterObjects.own }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "caravan-operator").subjects }}
{{- $namespaces = append $namespaces .namespace }}
{{- end }}
{{- end }}
{{- without $namespaces .Release.Namespace | join ", " }}
{{- end }}

{{/* Refuses, with what to set, what the API server would refuse without saying so. */}}
{{- define "caravan.refuseWhatCannotBe" -}}
{{- $version := .Capabilities.KubeVersion.Version }}
{{- if and .Values.admissionPolicies.enabled (semverCompare "<1.30.0-0" $version) }}
{{- fail (printf "admission policies need Kubernetes 1.30, and this is %s: set admissionPolicies.enabled=false" $version) }}
{{- end }}
{{- if and (eq .Values.scope "Cluster") (not .Values.clusterObjects.own) }}
{{- fail "scope=Cluster needs clusterObjects.own=true: its rights belong to the cluster" }}
{{- end }}
{{- $certificate := .Values.service.certificate }}
{{- if and $certificate.secretName $certificate.certManager.issuerName }}
{{- fail "the job service has one certificate: set service.certificate.secretName or service.certificate.certManager.issuerName, and not both" }}
{{- end }}
{{- if and .Values.service.enabled .Values.operator.enabled (eq $certificate.secretName "caravan-service-certificate") }}
{{- fail "service.certificate.secretName: the Secret caravan-service-certificate is the operator's; give yours another name" }}
{{- end }}
{{- if and .Values.service.enabled (not .Values.operator.enabled) (not $certificate.secretName) (not $certificate.certManager.issuerName) }}
{{- fail "without an operator nobody keeps the job service's certificate: set service.certificate.secretName or service.certificate.certManager.issuerName" }}
{{- end }}
{{- if .Values.operator.enabled }}
{{- with include "caravan.otherOperators" . }}
{{- fail (printf "the same jobs have an operator in %s: uninstall that, or set operator.enabled=false (what was set stays with --reset-then-reuse-values)" .) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Of what `helm test` makes: it goes when the test has passed, and before the next. */}}
{{- define "caravan.testMetadata" }}
  name: caravan-check
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: caravan-check
    app.kubernetes.io/part-of: caravan
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
