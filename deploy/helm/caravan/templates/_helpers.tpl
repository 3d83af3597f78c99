{{/* Name of this release's objects that belong to the cluster. */}}
{{- define "caravan.clusterName" -}}
{{ if eq .Values.scope "Namespace" }}caravan-operator-{{ .Release.Namespace }}{{ else }}caravan-operator{{ end }}
{{- end }}

{{/* Image of the program whose key is given: (list . "operator"). */}}
{{- define "caravan.image" -}}
{{- $root := index . 0 }}
{{- with $root.Values.images -}}
{{ .registry }}/{{ get . (index $ 1) }}:{{ .tag | default $root.Chart.AppVersion }}
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
{{- if ne .Values.operator.logLevel "info" }}
{{- $arguments = append $arguments (printf "--log-level=%s" .Values.operator.logLevel) }}
{{- end }}
{{- toJson $arguments }}
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

{{/* "true" where the cluster has the Prometheus operator's API. */}}
{{- define "caravan.hasMonitoring" -}}
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}true{{ end }}
{{- end }}

{{/* Refuses, with what to set, what the API server would refuse without saying so. */}}
{{- define "caravan.refuseWhatCannotBe" -}}
{{- $version := .Capabilities.KubeVersion.Version }}
{{- if and .Values.admissionPolicies.enabled (semverCompare "<1.30.0-0" $version) }}
{{- fail (printf "admission policies need Kubernetes 1.30, and this is %s: set admissionPolicies.enabled=false" $version) }}
{{- end }}
{{- if and .Values.flowControl.enabled (semverCompare "<1.29.0-0" $version) }}
{{- fail (printf "flow control needs Kubernetes 1.29, and this is %s: set flowControl.enabled=false" $version) }}
{{- end }}
{{- if and (eq .Values.scope "Cluster") (not .Values.clusterObjects.own) }}
{{- fail "scope=Cluster needs clusterObjects.own=true: its rights belong to the cluster" }}
{{- end }}
{{- end }}

{{/* Of what `helm test` makes: it goes when the test has passed, and before the next. */}}
{{- define "caravan.testMetadata" }}
  name: caravan-check
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: caravan
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
