#include "operator/children/worker_pod.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/quantity.h"
#include "common/schema/field_rules.h"
#include "operator/api/names.h"
#include "operator/children/certificates.h"
#include "operator/children/job_objects.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

constexpr int kUser = 65532;     // as the images' own; volumes are made writable for its group
constexpr int kReadable = 0444;  // within the pod, whose only user may not be in the volumes' group
constexpr int kTokenSeconds = 3600;
// Pods may wait for machines for long; the operator sees what becomes of them.
constexpr int kRejoinSeconds = 30 * 24 * 3600;
constexpr int kGraceSeconds = 60;

int ranks_of(const v1alpha1::JobPlan& plan, int node) {
  const int all = plan.plan().devices();
  const int per_node = (all + plan.nodes() - 1) / plan.nodes();
  return std::min(per_node, all - node * per_node);
}

bool reports_to_operator(const Settings& settings, int node) {
  return node == 0 && !settings.reports_address.empty();
}

JsonObject variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

JsonObject field_variable(const std::string& name, const std::string& path) {
  return {{"name", name},
          {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"apiVersion", "v1"}, {"fieldPath", path}}}}}};
}

// Ours come first and win: a user's variable of the same name is left out.
JsonArray environment(const Job& job, const v1alpha1::JobPlan& plan, int node) {
  JsonArray all{
      field_variable("CARAVAN_POD_IP", "status.podIP"),
      field_variable("CARAVAN_POD_UID", "metadata.uid"),
      variable("CARAVAN_JOB_NAME", job.key.name),
      variable("CARAVAN_JOB_NAMESPACE", job.key.name_space),
      variable("CARAVAN_JOB_UID", job.uid),
      variable("CARAVAN_NODE_INDEX", std::to_string(node)),
      variable("CARAVAN_NODES", std::to_string(plan.nodes())),
      variable("CARAVAN_COORDINATOR", fmt::format("{}:{}", coordinator_host(job), kCoordinatorPort))};
  const auto is_ours = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Json& v) { return kube::text_at(v, {"name"}) == name; });
  };
  for (const v1alpha1::EnvironmentVariable& given : job.spec.worker().env()) {
    if (!is_ours(given.name())) all.push_back(variable(given.name(), given.value()));
  }
  return all;
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
    add("--threads", std::to_string(threads_per_rank(job.spec, ranks_of(plan, request.node))));
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

JsonObject resources(const Job& job, const v1alpha1::Worker& worker, int ranks) {
  JsonObject requests{{"ephemeral-storage", worker.scratch()}};
  JsonObject limits = requests;
  const v1alpha1::WorkerResources& given = worker.resources();
  if (!given.cpu().empty()) requests["cpu"] = given.cpu();
  if (!given.memory().empty()) requests["memory"] = limits["memory"] = given.memory();
  const v1alpha1::Device& device = job.spec.resources().device();
  if (device.kind() != v1alpha1::Device::CPU) {
    requests[device.resource_name()] = limits[device.resource_name()] = std::to_string(ranks);
  }
  return {{"requests", std::move(requests)}, {"limits", std::move(limits)}};
}

// Pod Security Standard "restricted". Where the platform assigns users, a pod that asks for one is refused.
JsonObject security(const Settings& settings) {
  JsonObject context{{"runAsNonRoot", true}, {"seccompProfile", JsonObject{{"type", "RuntimeDefault"}}}};
  if (settings.platform_assigns_users) return context;
  for (const char* kind : {"runAsUser", "runAsGroup", "fsGroup"}) context[kind] = kUser;
  context["fsGroupChangePolicy"] = "OnRootMismatch";
  return context;
}

JsonObject mount(const char* name, const char* path, bool read_only) {
  return {{"name", name}, {"mountPath", path}, {"readOnly", read_only}};
}

JsonObject claim(const char* name, const std::string& claim_name, bool read_only) {
  return {{"name", name},
          {"persistentVolumeClaim", JsonObject{{"claimName", claim_name}, {"readOnly", read_only}}}};
}

JsonObject token_volume() {
  const JsonObject token{
      {"audience", kReportAudience}, {"expirationSeconds", kTokenSeconds}, {"path", "token"}};
  return {{"name", "reports-token"},
          {"projected", JsonObject{{"defaultMode", kReadable},
                                   {"sources", JsonArray{JsonObject{{"serviceAccountToken", token}}}}}}};
}

struct Storage {
  JsonArray volumes;
  JsonArray mounts;

  void add(JsonObject volume, const char* path, bool read_only) {
    mounts.push_back(mount(volume["name"].as_string().c_str(), path, read_only));
    volumes.push_back(std::move(volume));
  }
};

struct ClaimUse {
  const char* name;  // of the volume
  std::string claim;
  const char* path;
  bool read_only;
};

std::vector<ClaimUse> claim_uses(const v1alpha1::JobSpec& spec) {
  std::vector<ClaimUse> uses{{"data", spec.data().claim_name(), kDataFolder, true},
                             {"weights", spec.model().init_from().claim_name(), kWeightsFolder, true},
                             {"checkpoints", spec.checkpoint().claim_name(), kCheckpointFolder, false}};
  std::erase_if(uses, [](const ClaimUse& use) { return use.claim.empty(); });
  return uses;
}

// One volume for each claim, however many folders show it: of two volumes of one claim some kubelets wait
// for the second for ever (kubernetes issue 82526).
void add_claims(const std::vector<ClaimUse>& uses, Storage& all) {
  for (const ClaimUse& use : uses) {
    const auto is_same = [&](const ClaimUse& other) { return other.claim == use.claim; };
    const ClaimUse& first = *std::ranges::find_if(uses, is_same);
    all.mounts.push_back(mount(first.name, use.path, use.read_only));
    if (&first != &use) continue;
    const bool is_written =
        std::ranges::any_of(uses, [&](const ClaimUse& other) { return is_same(other) && !other.read_only; });
    all.volumes.push_back(claim(use.name, use.claim, !is_written));
  }
}

Storage storage(const Job& job, const v1alpha1::Worker& worker, const PodRequest& request,
                const Settings& settings) {
  Storage all;
  const std::string plan = plan_name(job, request.first_attempt_of_plan);
  all.add({{"name", "plan"}, {"configMap", JsonObject{{"name", plan}, {"defaultMode", kReadable}}}},
          kPlanFolder, true);
  all.add({{"name", "tls"}, {"secret", certificate_volume(job, request.certificates, request.node)}},
          kTlsFolder, true);
  all.add({{"name", "shared-memory"},
           {"emptyDir", JsonObject{{"medium", "Memory"}, {"sizeLimit", worker.shared_memory()}}}},
          "/dev/shm", false);
  all.add({{"name", "work"}, {"emptyDir", JsonObject{{"sizeLimit", worker.scratch()}}}}, "/tmp", false);
  if (reports_to_operator(settings, request.node)) all.add(token_volume(), kTokenFolder, true);
  add_claims(claim_uses(job.spec), all);
  return all;
}

JsonObject container(const Job& job, const v1alpha1::Worker& worker, const v1alpha1::JobPlan& plan,
                     const PodRequest& request, const Settings& settings, JsonArray mounts) {
  JsonObject result{
      {"name", "worker"},
      {"image", worker.image().empty() ? settings.worker_image : worker.image()},
      {"args", arguments(job, plan, request, settings)},
      {"env", environment(job, plan, request.node)},
      {"ports", JsonArray{JsonObject{{"name", "metrics"}, {"containerPort", kMetricsPort}}}},
      {"resources", resources(job, worker, ranks_of(plan, request.node))},
      {"volumeMounts", std::move(mounts)},
      {"securityContext", JsonObject{{"allowPrivilegeEscalation", false},
                                     {"readOnlyRootFilesystem", true},
                                     {"capabilities", JsonObject{{"drop", JsonArray{"ALL"}}}}}}};
  if (worker.image_pull_policy() != v1alpha1::Worker::ImagePullPolicyUnspecified) {
    result["imagePullPolicy"] = v1alpha1::Worker::ImagePullPolicy_Name(worker.image_pull_policy());
  }
  return result;
}

JsonArray tolerations(const v1alpha1::Worker& worker) {
  JsonArray all;
  for (const v1alpha1::Toleration& given : worker.tolerations()) {
    JsonObject toleration;
    if (!given.key().empty()) toleration["key"] = given.key();
    if (!given.operator_().empty()) toleration["operator"] = given.operator_();
    if (!given.value().empty()) toleration["value"] = given.value();
    if (!given.effect().empty()) toleration["effect"] = given.effect();
    if (given.has_toleration_seconds()) toleration["tolerationSeconds"] = given.toleration_seconds();
    all.push_back(std::move(toleration));
  }
  return all;
}

constexpr int kHeaviest = 100;  // of the preferences of a pod

// Pods of one job in one domain of the topology, as far as possible or strictly.
JsonObject pod_affinity(const Job& job) {
  const v1alpha1::Topology& topology = job.spec.scheduling().topology();
  const JsonObject term{
      {"labelSelector", JsonObject{{"matchLabels", JsonObject{{labels::kJobUid, job.uid}}}}},
      {"topologyKey", topology.key()}};
  if (topology.mode() == v1alpha1::Topology::Required) {
    return {{"requiredDuringSchedulingIgnoredDuringExecution", JsonArray{term}}};
  }
  const JsonObject weighted{{"weight", kHeaviest}, {"podAffinityTerm", term}};
  return {{"preferredDuringSchedulingIgnoredDuringExecution", JsonArray{weighted}}};
}

// By name, which no label need repeat; a requirement on it takes one value. Where there is room nowhere else,
// the job goes on there: a machine may be innocent of two failures.
JsonObject node_affinity(const std::vector<std::string>& avoided) {
  JsonArray fields;
  for (const std::string& machine : avoided) {
    fields.push_back(
        JsonObject{{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", JsonArray{Json(machine)}}});
  }
  const JsonObject preference{{"matchFields", std::move(fields)}};
  const JsonObject term{{"weight", kHeaviest}, {"preference", preference}};
  return {{"preferredDuringSchedulingIgnoredDuringExecution", JsonArray{term}}};
}

void add_placement(const Job& job, const PodRequest& request, JsonObject& spec) {
  JsonObject selector;
  if (!request.product_label.empty()) selector[labels::kGpuProduct] = request.product_label;
  std::map<std::string, std::string> wanted(job.spec.worker().node_selector().begin(),
                                            job.spec.worker().node_selector().end());
  for (const auto& [key, value] : wanted) selector[key] = value;
  if (!selector.empty()) spec["nodeSelector"] = std::move(selector);
  if (job.spec.worker().tolerations_size() > 0) spec["tolerations"] = tolerations(job.spec.worker());
  if (!job.spec.worker().priority_class_name().empty())
    spec["priorityClassName"] = job.spec.worker().priority_class_name();
  const auto mode = job.spec.scheduling().topology().mode();
  JsonObject affinity;
  if (mode == v1alpha1::Topology::Preferred || mode == v1alpha1::Topology::Required)
    affinity["podAffinity"] = pod_affinity(job);
  if (!request.avoided_machines.empty()) affinity["nodeAffinity"] = node_affinity(request.avoided_machines);
  if (!affinity.empty()) spec["affinity"] = std::move(affinity);
}

}  // namespace

std::string pod_name(const Job& job, int node, int attempt) {
  return fmt::format("{}-{}-a{}", job.key.name, node, attempt);
}

int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod) {
  const auto cores = parse_quantity(spec.worker().resources().cpu());
  return cores ? std::max(1, static_cast<int>(*cores) / ranks_per_pod) : 1;
}

Json pod_intent(const Job& job, const v1alpha1::JobPlan& plan, const PodRequest& request,
                const Settings& settings) {
  JsonObject metadata = child_metadata(job, pod_name(job, request.node, request.attempt));
  JsonObject& own_labels = metadata["labels"].as_object();
  own_labels[labels::kComponent] = "worker";
  own_labels[labels::kNodeIndex] = std::to_string(request.node);
  own_labels[labels::kAttempt] = std::to_string(request.attempt);
  own_labels[labels::kCertificates] = request.certificates;

  const v1alpha1::Worker worker = worker_of(job);
  Storage stored = storage(job, worker, request, settings);
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
  add_placement(job, request, spec);
  return JsonObject{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

}  // namespace caravan::controller
