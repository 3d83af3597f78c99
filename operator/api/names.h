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
inline constexpr char kFieldManager[] = "caravan-operator";
inline constexpr char kStatusFieldManager[] = "caravan-operator-status";
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
inline constexpr char kHostNetwork[] = "training.caravan.dev/host-network";   // of namespaces, see kEnabled
inline constexpr char kCertificates[] = "training.caravan.dev/certificates";  // the set that the pod has
}  // namespace labels

namespace annotations {
// Of a job: each new value asks for a checkpoint.
inline constexpr char kCheckpoint[] = "training.caravan.dev/checkpoint";
inline constexpr char kContent[] = "training.caravan.dev/content";  // fingerprint of what was written
}  // namespace annotations

// Value of labels::kMetrics: pods of this namespace may read the metrics of every job. Of
// labels::kHostNetwork: jobs of this namespace may use the network of their nodes.
inline constexpr char kEnabled[] = "enabled";
inline constexpr std::size_t kLongestCheckpointRequest = 256;  // that the status has room for
inline constexpr char kManager[] = "caravan-operator";         // value of kManagedBy

namespace conditions {
inline constexpr char kPlanned[] = "Planned";
inline constexpr char kSuspended[] = "Suspended";
inline constexpr char kScheduled[] = "Scheduled";
inline constexpr char kRunning[] = "Running";
inline constexpr char kStalled[] = "Stalled";
inline constexpr char kStraggling[] = "Straggling";
inline constexpr char kRestarting[] = "Restarting";
inline constexpr char kCheckpointFailing[] = "CheckpointFailing";
inline constexpr char kComplete[] = "Complete";
inline constexpr char kFailed[] = "Failed";
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
