#include "operator/api/workload_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

std::string item_text(const JsonArray& items, std::size_t index) {
  return index < items.size() && items[index].is_string() ? std::string(items[index].get_string()) : "";
}

// A value of a topology's level, of the domain of that index within the slice.
std::string level_value(const Json& level, std::size_t domain) {
  if (std::string same = kube::text_at(level, {"universal"}); !same.empty()) return same;
  return kube::text_at(level, {"individual", "prefix"}) +
         item_text(kube::array_at(level, {"individual", "roots"}), domain) +
         kube::text_at(level, {"individual", "suffix"});
}

int pods_of_domain(const Json& slice, std::size_t domain) {
  if (const auto same = kube::integer_at(slice, {"podCounts", "universal"})) return static_cast<int>(*same);
  const JsonArray& counts = kube::array_at(slice, {"podCounts", "individual"});
  return domain < counts.size() && counts[domain].is_int64() ? static_cast<int>(counts[domain].get_int64())
                                                             : 0;
}

// No job has more pods; whoever may write a Workload's status may write any number.
constexpr std::size_t kMostDomains = 16384;

std::vector<WorkloadDomain> read_domains(const Json& assignment) {
  std::vector<WorkloadDomain> domains;
  const JsonArray& levels = kube::array_at(assignment, {"levels"});
  for (const Json& slice : kube::array_at(assignment, {"slices"})) {
    const JsonArray& values = kube::array_at(slice, {"valuesPerLevel"});
    const auto count = static_cast<std::size_t>(kube::integer_at(slice, {"domainCount"}).value_or(0));
    for (std::size_t i = 0; i < count && domains.size() < kMostDomains; ++i) {
      WorkloadDomain& domain = domains.emplace_back();
      domain.pods = pods_of_domain(slice, i);
      for (std::size_t level = 0; level < std::min(levels.size(), values.size()); ++level)
        domain.node_labels[item_text(levels, level)] = level_value(values[level], i);
    }
  }
  return domains;
}

std::optional<int> slice_size_of(const Json& object) {
  const JsonArray& pod_sets = kube::array_at(object, {"spec", "podSets"});
  if (pod_sets.empty()) return std::nullopt;  // ours has one
  const auto size = kube::integer_at(pod_sets.front(), {"topologyRequest", "podSetSliceSize"});
  return size ? std::optional(static_cast<int>(*size)) : std::nullopt;
}

void read_assignment(const Json& object, WorkloadView& view) {
  const JsonArray& assignments = kube::array_at(object, {"status", "admission", "podSetAssignments"});
  if (assignments.empty()) return;  // ours has one set of pods
  std::set<std::string> flavors;
  for (const auto& [resource, flavor] : kube::texts_at(assignments.front(), {"flavors"}))
    flavors.insert(flavor);
  view.flavors.assign(flavors.begin(), flavors.end());
  if (const Json* topology = kube::find(assignments.front(), {"topologyAssignment"}))
    view.domains = read_domains(*topology);
}

std::string told_of_check(const Json& check) {
  const std::string words = kube::text_at(check, {"message"});
  return fmt::format("admission check {} is {}{}{}", kube::text_at(check, {"name"}),
                     kube::text_at(check, {"state"}), words.empty() ? "" : ": ", words);
}

void read_checks(const Json& object, WorkloadView& view) {
  for (const Json& check : kube::array_at(object, {"status", "admissionChecks"})) {
    if (kube::text_at(check, {"state"}) != "Ready") {
      view.checks_are_ready = false;
      if (view.check_waited_for.empty()) view.check_waited_for = told_of_check(check);
    }
    for (const Json& update : kube::array_at(check, {"podSetUpdates"})) {
      view.updates.push_back({.labels = kube::texts_at(update, {"labels"}),
                              .annotations = kube::texts_at(update, {"annotations"}),
                              .node_selector = kube::texts_at(update, {"nodeSelector"}),
                              .tolerations = kube::array_at(update, {"tolerations"})});
    }
  }
}

void put_condition(const WorkloadCondition& wanted, TimePoint now, JsonArray& conditions) {
  const char* status = wanted.value ? "True" : "False";
  JsonObject condition{{"type", wanted.type},
                       {"status", status},
                       {"reason", wanted.reason},
                       {"message", wanted.message},
                       {"lastTransitionTime", to_text(now)}};
  Json* there = kube::find_condition(conditions, wanted.type);
  if (there == nullptr) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (kube::text_at(*there, {"status"}) == status)
    condition["lastTransitionTime"] = kube::text_at(*there, {"lastTransitionTime"});
  if (const Json* generation = kube::find(*there, {"observedGeneration"}))
    condition["observedGeneration"] = *generation;
  *there = std::move(condition);
}

JsonObject status_patch(const WorkloadView& workload, JsonObject status) {
  return {{"metadata", JsonObject{{"resourceVersion", workload.version}}}, {"status", std::move(status)}};
}

JsonArray changed_conditions(const WorkloadView& workload, const std::vector<WorkloadCondition>& wanted,
                             TimePoint now) {
  JsonArray conditions = workload.conditions;
  for (const WorkloadCondition& each : wanted) put_condition(each, now, conditions);
  return conditions;
}

// "DeactivatedDueToRequeuingLimitExceeded" is told as "Deactivated" when the Workload is queued again.
std::string requeue_reason(const std::string& eviction) {
  constexpr std::string_view kDeactivated = "Deactivated";
  return eviction.starts_with(kDeactivated) ? std::string(kDeactivated) : eviction;
}

// A field of a condition.
std::string text_of(const WorkloadView& workload, std::string_view type, const char* field) {
  const Json* condition = workload.condition(type);
  return condition == nullptr ? "" : kube::text_at(*condition, {field});
}

}  // namespace

const Json* WorkloadView::condition(std::string_view type) const {
  return kube::find_condition(conditions, type);
}

bool WorkloadView::is_true(std::string_view type) const {
  return text_of(*this, type, "status") == "True";
}

std::string WorkloadView::reason_of(std::string_view type) const {
  return text_of(*this, type, "reason");
}

std::string WorkloadView::message_of(std::string_view type) const {
  return text_of(*this, type, "message");
}

FlavorView read_flavor(const Json& object) {
  return {.node_labels = kube::texts_at(object, {"spec", "nodeLabels"}),
          .tolerations = kube::array_at(object, {"spec", "tolerations"})};
}

WorkloadView read_workload(const Json& object) {
  WorkloadView view{.name = kube::key_of(object).name,
                    .uid = kube::uid_of(object),
                    .version = kube::version_of(object),
                    .being_deleted = kube::is_being_deleted(object),
                    .queue = kube::text_at(object, {"spec", "queueName"}),
                    .priority_class = kube::text_at(object, {"spec", "priorityClassRef", "name"}),
                    .slice_size = slice_size_of(object),
                    .conditions = kube::array_at(object, {"status", "conditions"})};
  if (const Json* active = kube::find(object, {"spec", "active"}))
    view.active = !active->is_bool() || active->get_bool();
  read_assignment(object, view);
  read_checks(object, view);
  return view;
}

Json conditions_patch(const WorkloadView& workload, const std::vector<WorkloadCondition>& wanted,
                      TimePoint now) {
  return status_patch(workload, {{"conditions", changed_conditions(workload, wanted, now)}});
}

Json release_patch(const WorkloadView& workload, TimePoint now) {
  const std::string reason = workload.reason_of(workload::kEvicted);
  const std::string message = workload.message_of(workload::kEvicted);
  const bool requeues = reason == "Preempted" || reason == "NodeFailures";
  const std::vector<WorkloadCondition> wanted{
      {workload::kQuotaReserved, false, reasons::kPending, message},
      {workload::kAdmitted, false,
       workload.checks_are_ready ? "NoReservation" : "NoReservationUnsatisfiedChecks", message},
      {workload::kRequeued, requeues, requeue_reason(reason), message},
      {workload::kPodsReady, false, "WaitForStart", "the pods are gone"}};
  return status_patch(workload,
                      {{"admission", nullptr}, {"conditions", changed_conditions(workload, wanted, now)}});
}

}  // namespace caravan::controller
