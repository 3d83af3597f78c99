// Every name that the operator writes into the cluster: labels, conditions, ports, paths. Part of the API:
// users select and alert by them. Reasons, which agents give too, stand with the schema.
#pragma once

#include <cstddef>

#include "kube/api/resource_path.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::controller {

inline constexpr char kGroup[] = "training.caravan.dev";
inline constexpr char kApiVersion[] = "training.caravan.dev/v1alpha1";
inline constexpr char kKind[] = "LlamaTrainingJob";
inline constexpr char kController[] = "training.caravan.dev/operator";  // what managedBy and events name
inline constexpr char kOperator[] = "caravan-operator";  // its Deployment, app.kubernetes.io/name and Lease
inline constexpr const char* kFieldManager = kOperator;
inline constexpr char kStatusFieldManager[] = "caravan-operator-status";
inline constexpr char kWorkerContainer[] = "worker";  // of a pod: the agent and its ranks
// A ConfigMap: who signed the certificate of the job service, in PEM, for its callers.
inline constexpr char kServiceRoot[] = "caravan-service-root";
inline constexpr char kServiceRootKey[] = "ca.crt";
inline constexpr char kReportAudience[] = "reports.training.caravan.dev";  // of the token an agent shows

inline const kube::Resource kJobs{.group = kGroup, .version = "v1alpha1", .plural = "llamatrainingjobs"};
inline const kube::Resource kServices{.group = "", .version = "v1", .plural = "services"};
inline const kube::Resource kConfigMaps{.group = "", .version = "v1", .plural = "configmaps"};
inline const kube::Resource kSecrets{.group = "", .version = "v1", .plural = "secrets"};
inline const kube::Resource kServiceAccounts{.group = "", .version = "v1", .plural = "serviceaccounts"};
inline const kube::Resource kNodes{.group = "", .version = "v1", .plural = "nodes"};
inline const kube::Resource kNetworkPolicies{
    .group = "networking.k8s.io", .version = "v1", .plural = "networkpolicies"};
inline const kube::Resource kTokenReviews{
    .group = "authentication.k8s.io", .version = "v1", .plural = "tokenreviews"};

// Of Kueue, the queueing system.
inline constexpr char kKueueGroup[] = "kueue.x-k8s.io";
inline constexpr char kKueueApiVersion[] = "kueue.x-k8s.io/v1beta2";
inline constexpr char kMultiKueue[] = "kueue.x-k8s.io/multikueue";  // a value of managedBy
// As Kueue's configuration names the kind of jobs.
inline constexpr char kExternalFramework[] = "LlamaTrainingJob.v1alpha1.training.caravan.dev";
inline const kube::Resource kWorkloads{.group = kKueueGroup, .version = "v1beta2", .plural = "workloads"};
inline const kube::Resource kResourceFlavors{
    .group = kKueueGroup, .version = "v1beta2", .plural = "resourceflavors"};
inline const kube::Resource kWorkloadPriorityClasses{
    .group = kKueueGroup, .version = "v1beta2", .plural = "workloadpriorityclasses"};
inline const kube::Resource kPriorityClasses{
    .group = "scheduling.k8s.io", .version = "v1", .plural = "priorityclasses"};
// What tells the places in a LocalQueue, as its subresource kPendingWorkloads.
inline const kube::Resource kVisibleQueues{
    .group = "visibility.kueue.x-k8s.io", .version = "v1beta2", .plural = "localqueues"};
inline constexpr char kPendingWorkloads[] = "pendingworkloads";

// Of schedulers that place a gang as a whole.
inline const kube::Resource kVolcanoPodGroups{
    .group = "scheduling.volcano.sh", .version = "v1beta1", .plural = "podgroups"};
inline const kube::Resource kCoschedulingPodGroups{
    .group = "scheduling.x-k8s.io", .version = "v1alpha1", .plural = "podgroups"};
inline constexpr char kVolcanoScheduler[] = "volcano";
inline constexpr char kCoschedulingScheduler[] = "scheduler-plugins-scheduler";  // as its chart names it

namespace labels {
inline constexpr char kName[] = "app.kubernetes.io/name";
inline constexpr char kInstance[] = "app.kubernetes.io/instance";
inline constexpr char kComponent[] = "app.kubernetes.io/component";
inline constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";  // our caches select by it
inline constexpr char kJobName[] = "training.caravan.dev/job-name";
inline constexpr char kJobUid[] = "training.caravan.dev/job-uid";
inline constexpr char kNodeIndex[] = "training.caravan.dev/node-index";
inline constexpr char kAttempt[] = "training.caravan.dev/attempt";  // the one that the pod was made for
inline constexpr char kMetrics[] = "training.caravan.dev/metrics";  // of namespaces, see kEnabled
inline constexpr char kNvidiaProduct[] = "nvidia.com/gpu.product";  // of nodes, as the next three
inline constexpr char kNvidiaMemory[] = "nvidia.com/gpu.memory";    // of one GPU, in MiB
inline constexpr char kAmdProduct[] = "amd.com/gpu.product-name";
inline constexpr char kAmdMemory[] = "amd.com/gpu.vram";                      // of one GPU, such as 192G
inline constexpr char kCertificates[] = "training.caravan.dev/certificates";  // the set that the pod has
// Of a pod: its place in the order in which nodes of one pipeline replica are neighbours.
inline constexpr char kTopologyIndex[] = "training.caravan.dev/topology-index";
// Of a pod: hash of the domain that was chosen for its replica.
inline constexpr char kTopologyDomain[] = "training.caravan.dev/topology-domain";
inline constexpr char kQueueName[] = "kueue.x-k8s.io/queue-name";          // of a job: its LocalQueue
inline constexpr char kQueuePriority[] = "kueue.x-k8s.io/priority-class";  // a WorkloadPriorityClass
inline constexpr char kQueuedJobUid[] = "kueue.x-k8s.io/job-uid";  // of a Workload, which Kueue names it by
inline constexpr char kPodSet[] = "kueue.x-k8s.io/podset";         // of a pod with a topology
inline constexpr char kCoschedulingGroup[] = "scheduling.x-k8s.io/pod-group";  // of a pod
}  // namespace labels

namespace annotations {
// Of a job: each new value asks for a checkpoint.
inline constexpr char kCheckpoint[] = "training.caravan.dev/checkpoint";
// Of a job: "true" ends it for good, with reason Cancelled.
inline constexpr char kCancel[] = "training.caravan.dev/cancel";
inline constexpr char kContent[] = "training.caravan.dev/content";       // fingerprint of what was written
inline constexpr char kWorkload[] = "kueue.x-k8s.io/workload";           // of a pod with a topology
inline constexpr char kVolcanoGroup[] = "scheduling.k8s.io/group-name";  // of a pod
}  // namespace annotations

// Value of labels::kMetrics: pods of this namespace may read the metrics of every job.
inline constexpr char kEnabled[] = "enabled";
inline constexpr std::size_t kLongestCheckpointRequest = 256;  // that the status has room for
inline constexpr const char* kManager = kOperator;             // value of kManagedBy

namespace conditions {
inline constexpr char kPlanned[] = "Planned";
inline constexpr char kSuspended[] = "Suspended";
inline constexpr char kQuotaReserved[] = "QuotaReserved";
inline constexpr char kScheduled[] = "Scheduled";
inline constexpr char kRunning[] = "Running";
inline constexpr char kStalled[] = "Stalled";
inline constexpr char kStraggling[] = "Straggling";
inline constexpr char kRestarting[] = "Restarting";
inline constexpr char kCheckpointFailing[] = "CheckpointFailing";
inline constexpr char kComplete[] = "Complete";
inline constexpr char kFailed[] = "Failed";
// What pods do: a job that has none does none of it.
inline constexpr const char* kOfPods[] = {kRunning, kStalled, kStraggling, kRestarting};
}  // namespace conditions

inline constexpr char kCertificatesType[] = "training.caravan.dev/certificates";  // of a Secret

// Inside a worker pod.
inline constexpr int kCoordinatorPort = 7070;
inline constexpr int kMetricsPort = 9400;
inline constexpr char kPlanFolder[] = "/etc/caravan";
inline constexpr char kPlanKey[] = "plan.json";
inline constexpr char kReportsAuthorityKey[] = "reports-ca.crt";
inline constexpr char kTlsFolder[] = "/etc/caravan-tls";
inline constexpr char kTokenFolder[] = "/var/run/secrets/caravan";
inline constexpr char kDataFolder[] = "/data";
inline constexpr char kCheckpointFolder[] = "/checkpoints";
inline constexpr char kWeightsFolder[] = "/weights";

}  // namespace caravan::controller
