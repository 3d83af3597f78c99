#include "operator/view/pod_view.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/utf8.h"
#include "operator/api/names.h"
#include "operator/view/object_fields.h"
#include "operator/view/pod_advice.h"

namespace caravan::controller {
namespace {

using kube::Json;

int number(const std::string& text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

PodPhase phase_of(const std::string& phase) {
  if (phase == "Pending") return PodPhase::kPending;
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

bool is_disrupted(const Json& pod) {
  constexpr std::array<std::string_view, 3> kReasons{"Preempting", "NodeLost", "Terminated"};
  const std::string reason = kube::text_at(pod, {"status", "reason"});
  return has_condition(pod, "DisruptionTarget", "True") ||
         std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

void read_worker(const Json& status, PodView& view) {
  if (const Json* ended = kube::find(status, {"state", "terminated"})) {
    if (const auto code = kube::integer_at(*ended, {"exitCode"})) view.exit_code = static_cast<int>(*code);
    view.finished_at = to_time(kube::text_at(*ended, {"finishedAt"}));
    view.last_words = kube::text_at(*ended, {"message"});
    view.out_of_memory = kube::text_at(*ended, {"reason"}) == "OOMKilled";
  }
  view.running_since = to_time(kube::text_at(status, {"state", "running", "startedAt"}));
  if (view.running_since && view.phase == PodPhase::kPending) view.phase = PodPhase::kRunning;
  if (const Json* waiting = kube::find(status, {"state", "waiting"}))
    view.trouble = explain_waiting(kube::text_at(*waiting, {"reason"}), kube::text_at(*waiting, {"message"}));
}

// The agent's beginning and end are the pod's: containers that others put into it, as a mesh does, may wait
// or run on for ever.
void read_end(PodView& view) {
  if (!view.exit_code || view.evicted) return;
  view.lingers = !view.ended();
  view.phase = *view.exit_code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed;
}

// A gang may have thousands of pods, and conditions quote one. Of node 0 the job's result is read. Troubles
// quote names of images and messages of registries and webhooks, and stand on people's terminals.
void cut_words(PodView& view) {
  constexpr std::size_t kLongestQuote = 1024;
  if (view.node != 0) view.last_words.resize(utf8_prefix(view.last_words, kLongestQuote).size());
  view.trouble = readable_line(view.trouble, kLongestQuote);
}

void read_gates(const Json& object, PodView& view) {
  std::vector<std::string> gates;
  for (const Json& gate : kube::array_at(object, {"spec", "schedulingGates"}))
    gates.push_back(kube::text_at(gate, {"name"}));
  view.gated = !gates.empty();
  if (view.gated) view.trouble = explain_gates(gates);
}

// One that no machine takes, or that has a machine and no container yet.
void read_placement(const Json& object, PodView& view) {
  const Json* scheduled = condition_of(object, "PodScheduled");
  if (scheduled == nullptr) return;
  if (kube::text_at(*scheduled, {"status"}) == "False")
    view.trouble = explain_unschedulable(kube::text_at(*scheduled, {"message"}));
  if (view.bound() && kube::text_at(*scheduled, {"status"}) == "True")
    view.bound_at = to_time(kube::text_at(*scheduled, {"lastTransitionTime"}));
  if (view.bound() && view.phase == PodPhase::kPending && view.trouble.empty())
    view.creating_since = to_time(kube::text_at(*scheduled, {"lastTransitionTime"}));
}

}  // namespace

PodView read_pod(const Json& object) {
  PodView view;
  view.name = kube::key_of(object).name;
  view.uid = kube::uid_of(object);
  view.version = kube::version_of(object);
  view.node = number(kube::text_at(object, {"metadata", "labels", labels::kNodeIndex}), -1);
  view.attempt = number(kube::text_at(object, {"metadata", "labels", labels::kAttempt}), 0);
  view.certificates = kube::text_at(object, {"metadata", "labels", labels::kCertificates});
  view.domain = kube::text_at(object, {"metadata", "labels", labels::kTopologyDomain});
  view.phase = phase_of(kube::text_at(object, {"status", "phase"}));
  view.machine = kube::text_at(object, {"spec", "nodeName"});
  view.created_at = to_time(kube::text_at(object, {"metadata", "creationTimestamp"})).value_or(TimePoint{});
  view.gone_by = to_time(kube::text_at(object, {"metadata", "deletionTimestamp"}));
  if (const auto grace = kube::integer_at(object, {"metadata", "deletionGracePeriodSeconds"}); view.gone_by)
    view.deleted_at = *view.gone_by - std::chrono::seconds(grace.value_or(0));
  view.evicted = kube::text_at(object, {"status", "reason"}) == "Evicted";
  view.disrupted = is_disrupted(object) && !view.evicted;
  if (const Json* worker = status_of_worker(object)) read_worker(*worker, view);
  read_end(view);
  if (view.phase == PodPhase::kFailed && (view.evicted || !view.exit_code))
    view.last_words = kube::text_at(object, {"status", "message"});
  if (const Json* silence = silence_of(object))
    view.silent_since = to_time(kube::text_at(*silence, {"lastTransitionTime"}));
  read_placement(object, view);
  read_gates(object, view);
  cut_words(view);
  return view;
}

}  // namespace caravan::controller
