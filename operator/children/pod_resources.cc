#include "operator/children/pod_resources.h"

#include <map>

#include "common/quantity.h"
#include "planner/memory/host_memory.h"

namespace caravan::controller {
namespace {

using kube::JsonArray;
using kube::JsonObject;

struct Amounts {
  JsonObject requests = {};
  JsonObject limits = {};

  void ask(const std::string& name, const std::string& amount) { requests[name] = amount; }
  void ask_and_limit(const std::string& name, const std::string& amount) {
    requests[name] = limits[name] = amount;
  }
};

// No limits: what is to spare on the machine may be used, as where the job says nothing and has no GPUs.
void ask_near_devices(const v1alpha1::JobPlan& plan, int ranks, const Settings& settings, Amounts& all) {
  const int cores = ranks * settings.cores_per_gpu;
  if (cores > 0 && !all.requests.contains("cpu")) all.ask("cpu", std::to_string(cores));
  if (!all.requests.contains("memory"))
    all.ask("memory", exact_quantity(planner::host_bytes(plan.plan(), ranks, plan.spec().training())));
}

}  // namespace

JsonObject pod_resources(const v1alpha1::Worker& worker, const v1alpha1::JobPlan& plan, int ranks,
                         const Settings& settings) {
  Amounts all;
  all.ask_and_limit("ephemeral-storage", worker.scratch());
  const v1alpha1::WorkerResources& given = worker.resources();
  if (!given.cpu().empty()) all.ask("cpu", given.cpu());
  if (!given.memory().empty()) all.ask_and_limit("memory", given.memory());
  const v1alpha1::Device& device = plan.spec().resources().device();
  if (device.kind() != v1alpha1::Device::CPU) {
    ask_near_devices(plan, ranks, settings, all);
    if (!has_claimed_devices(worker)) all.ask_and_limit(device.resource_name(), std::to_string(ranks));
  }
  const std::map<std::string, std::string> further(worker.extra_resources().begin(),
                                                   worker.extra_resources().end());
  for (const auto& [name, amount] : further) all.ask_and_limit(name, amount);
  JsonObject result{{"requests", std::move(all.requests)}, {"limits", std::move(all.limits)}};
  JsonArray claims;
  for (const v1alpha1::ResourceClaim& claim : worker.resource_claims())
    claims.push_back(JsonObject{{"name", claim.name()}});
  if (!claims.empty()) result["claims"] = std::move(claims);
  return result;
}

JsonArray pod_claims(const v1alpha1::Worker& worker) {
  JsonArray all;
  for (const v1alpha1::ResourceClaim& claim : worker.resource_claims()) {
    const bool is_new = !claim.template_name().empty();
    all.push_back(JsonObject{{"name", claim.name()},
                             {is_new ? "resourceClaimTemplateName" : "resourceClaimName",
                              is_new ? claim.template_name() : claim.claim_name()}});
  }
  return all;
}

}  // namespace caravan::controller
