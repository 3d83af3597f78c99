{{- define "caravan.jobRules" -}}
# What the operator does to jobs and their children, wherever it serves jobs.
- apiGroups: [training.caravan.dev]
  resources: [llamatrainingjobs]
  verbs: [list, watch, delete] # deleted when ttlSecondsAfterFinished is over
- apiGroups: [training.caravan.dev]
  resources: [llamatrainingjobs/status]
  verbs: [patch]
- apiGroups: [training.caravan.dev]
  resources: [llamatrainingjobs/finalizers]
  verbs: [update] # asked of who makes children that hold up the deletion of a job
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch] # where another operator's pods must be let through
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch, delete] # deleted when somebody has made it immutable
- apiGroups: [""]
  resources: [secrets]
  verbs: [create] # the certificates of a job; never read
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.queues.rights }}
# Of jobs that wait in a queue of Kueue, or whose gang Volcano or coscheduling places; without effect elsewhere.
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [get, list, watch, create, delete]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch] # quota is given back when the pods are gone
- apiGroups: [visibility.kueue.x-k8s.io]
  resources: [localqueues/pendingworkloads]
  verbs: [get] # the place in the queue
- apiGroups: [scheduling.volcano.sh, scheduling.x-k8s.io]
  resources: [podgroups]
  verbs: [get, create, patch] # which follow the queue and the priority of their job
{{- end }}
{{- end }}
{{- define "caravan.queueRules" -}}
# What a queue of Kueue gives, and what priorities are worth.
- apiGroups: [kueue.x-k8s.io]
  resources: [resourceflavors, workloadpriorityclasses]
  verbs: [list, watch]
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
  verbs: [list, watch]
{{- end }}
