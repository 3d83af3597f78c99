#include "operator/children/worker_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/schema/field_rules.h"
#include "operator/api/names.h"
#include "operator/api/pod_names.h"
#include "operator/children/inherited_metadata.h"
#include "operator/children/job_objects.h"
#include "operator/children/pod_environment.h"
#include "operator/children/pod_nodes.h"
#include "operator/children/pod_resources.h"
#include "operator/children/pod_storage.h"
#include "planner/job_shape.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

constexpr int kUser = 65532;  // as the images' own; volumes are made writable for its group
// Pods may wait for machines for long; the operator sees what becomes of them.
constexpr int kRejoinSeconds = 30 * 24 * 3600;
constexpr int kGraceSeconds = 60;

bool reports_to_operator(const Settings& settings, int node) {
  return node == 0 && !settings.reports_address.empty();
}

JsonArray arguments(const Job& job, const v1alpha1::JobPlan& plan, const PodRequest& request,
                    const Settings& settings) {
  JsonArray all;
  const auto add = [&all](const char* flag, const std::string& value) {
    all.push_back(Json(fmt::format("{}={}", flag, value)));
  };
  add("--plan", fmt::format("{}/{}", kPlanFolder, kPlanKey));
  add("--tls-folder", kTlsFolder);
  add("--host", "$(CARAVAN_POD_IP)");
  add("--metrics", fmt::format("[::]:{}", kMetricsPort));
  add("--work-directory", "/tmp/caravan");
  add("--first-attempt", std::to_string(request.attempt));
  add("--patience-milliseconds", std::to_string(std::chrono::milliseconds(settings.agent_patience).count()));
  add("--rejoin-timeout-seconds", std::to_string(kRejoinSeconds));
  if (job.spec.resources().device().kind() == v1alpha1::Device::CPU) {
    add("--threads",
        std::to_string(threads_per_rank(job.spec, planner::shape_of(plan).ranks_of(request.node))));
  }
  if (request.node != 0) return all;
  add("--listen", fmt::format("[::]:{}", kCoordinatorPort));
  add("--restarts", std::to_string(request.restarts));
  if (request.short_attempts > 0) add("--short-attempts", std::to_string(request.short_attempts));
  all.push_back("--losses-judged-elsewhere");
  add("--result-file", "/dev/termination-log");
  if (!reports_to_operator(settings, request.node)) return all;
  add("--reports", settings.reports_address);
  add("--reports-token-file", fmt::format("{}/token", kTokenFolder));
  add("--reports-authority-file", fmt::format("{}/{}", kPlanFolder, kReportsAuthorityKey));
  return all;
}

// With the defaults that stand in the object only where it has the section.
v1alpha1::Worker worker_of(const Job& job) {
  v1alpha1::Worker worker = job.spec.worker();
  schema::apply_defaults(worker);
  return worker;
}

// Pod Security Standard "restricted". Where the platform assigns users, a pod that asks for one is refused.
JsonObject security(const Settings& settings) {
  JsonObject context{{"runAsNonRoot", true}, {"seccompProfile", JsonObject{{"type", "RuntimeDefault"}}}};
  if (settings.platform_assigns_users) return context;
  for (const char* kind : {"runAsUser", "runAsGroup", "fsGroup"}) context[kind] = kUser;
  context["fsGroupChangePolicy"] = "OnRootMismatch";
  return context;
}

// With the host's network ports are the node's, so that the scheduler keeps a second such pod off it.
JsonArray ports(const v1alpha1::Worker& worker, int node) {
  JsonArray all{JsonObject{{"name", "metrics"}, {"containerPort", kMetricsPort}}};
  if (!worker.host_network()) return all;
  if (node == 0) all.push_back(JsonObject{{"name", "coordinator"}, {"containerPort", kCoordinatorPort}});
  for (Json& each : all) each.as_object()["hostPort"] = each.at("containerPort");
  return all;
}

const std::string& image_of(const v1alpha1::Worker& worker, const v1alpha1::JobPlan& plan,
                            const PodRequest& request, const Settings& settings) {
  if (!worker.image().empty()) return worker.image();
  return request.image.empty() ? usual_image(plan, settings) : request.image;
}

JsonObject container(const Job& job, const v1alpha1::Worker& worker, const v1alpha1::JobPlan& plan,
                     const PodRequest& request, const Settings& settings, JsonArray mounts) {
  JsonObject result{
      {"name", kWorkerContainer},
      {"image", image_of(worker, plan, request, settings)},
      {"args", arguments(job, plan, request, settings)},
      {"env", pod_environment(job, request.node)},
      {"ports", ports(worker, request.node)},
      {"resources", pod_resources(worker, plan, planner::shape_of(plan).ranks_of(request.node), settings)},
      {"volumeMounts", std::move(mounts)},
      {"securityContext", JsonObject{{"allowPrivilegeEscalation", false},
                                     {"readOnlyRootFilesystem", true},
                                     {"capabilities", JsonObject{{"drop", JsonArray{"ALL"}}}}}}};
  if (worker.image_pull_policy() != v1alpha1::Worker::ImagePullPolicyUnspecified) {
    result["imagePullPolicy"] = v1alpha1::Worker::ImagePullPolicy_Name(worker.image_pull_policy());
  }
  return result;
}

// Ours win: the operator knows its pods by them.
JsonObject metadata_of(const Job& job, const v1alpha1::Worker& worker, const PodRequest& request) {
  JsonObject metadata = child_metadata(job, pod_name(job.key.name, request.node, request.attempt));
  JsonObject& all = metadata["labels"].as_object();
  all[labels::kComponent] = "worker";
  all[labels::kNodeIndex] = std::to_string(request.node);
  all[labels::kAttempt] = std::to_string(request.attempt);
  all[labels::kCertificates] = request.certificates;
  const std::map<std::string, std::string> further(worker.labels().begin(), worker.labels().end());
  const Texts of_the_job = inherited(job.labels);
  for (const auto& [key, value] : further) {
    if (!all.contains(key) || of_the_job.contains(key)) all[key] = value;
  }
  const std::map<std::string, std::string> notes(worker.annotations().begin(), worker.annotations().end());
  if (notes.empty()) return metadata;
  Json& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = JsonObject();
  for (const auto& [key, value] : notes) annotations.as_object()[key] = value;
  return metadata;
}

void use_network_of_node(JsonObject& spec) {
  spec["hostNetwork"] = true;
  spec["dnsPolicy"] = "ClusterFirstWithHostNet";  // or the coordinator's name would not be found
}

}  // namespace

const std::string& usual_image(const v1alpha1::JobPlan& plan, const Settings& settings) {
  const bool on_gpus = plan.spec().resources().device().kind() != v1alpha1::Device::CPU;
  return on_gpus && !settings.worker_image_cuda.empty() ? settings.worker_image_cuda : settings.worker_image;
}

Json pod_intent(const Job& job, const v1alpha1::JobPlan& plan, const PodRequest& request,
                const Settings& settings) {
  const v1alpha1::Worker worker = worker_of(job);
  JsonObject metadata = metadata_of(job, worker, request);
  PodStorage stored = pod_storage(job, worker, request, reports_to_operator(settings, request.node));
  JsonObject spec{
      {"restartPolicy", "Never"},
      {"hostname", fmt::format("{}-{}", job.key.name, request.node)},
      {"subdomain", job.key.name},
      {"serviceAccountName", account_name(job)},
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"terminationGracePeriodSeconds",
       job.spec.has_checkpoint() ? policy::kGraceForCheckpoint.count() : kGraceSeconds},
      {"securityContext", security(settings)},
      {"containers", JsonArray{container(job, worker, plan, request, settings, std::move(stored.mounts))}},
      {"volumes", std::move(stored.volumes)}};
  choose_nodes(job, request, spec);
  if (worker.host_network()) use_network_of_node(spec);
  if (JsonArray claims = pod_claims(worker); !claims.empty()) spec["resourceClaims"] = std::move(claims);
  JsonArray pull_secrets;
  for (const std::string& name : worker.image_pull_secrets())
    pull_secrets.push_back(JsonObject{{"name", name}});
  if (!pull_secrets.empty()) spec["imagePullSecrets"] = std::move(pull_secrets);
  if (request.placement != nullptr) place(*request.placement, request.node, metadata, spec);
  return JsonObject{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

}  // namespace caravan::controller
