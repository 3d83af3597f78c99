#include "cli/cluster/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cli/cluster/cluster_error.h"
#include "cli/cluster/job_events.h"
#include "cli/cluster/job_news.h"
#include "common/quantity.h"
#include "operator/api/cancellation.h"
#include "operator/api/job_conditions.h"
#include "operator/api/names.h"
#include "operator/view/device_survey.h"
#include "operator/view/worker_devices.h"

namespace caravan::cli {
namespace {

using controller::EventView;
using controller::find_condition;
using controller::Job;
using controller::NodeView;
using controller::PodView;
using v1alpha1::Condition;

namespace conditions = controller::conditions;

using Findings = std::vector<Finding>;

// An operator looks at a new job within a second or two.
constexpr std::chrono::seconds kUnseen{20};
// Agents meet within seconds once all of them run.
constexpr std::chrono::seconds kSlowRendezvous{60};

struct Advice {
  const char* reason;
  const char* words;
};

// {0}: the job, as commands take it.
constexpr std::array kOfTheEnd{
    Advice{reasons::kDoesNotFit,
           "`caravan estimate FILE` says how many devices it takes; ask for more devices, or for a smaller "
           "micro-batch or sequence"},
    Advice{reasons::kInvalidSpec, "correct the field and submit the job again"},
    Advice{reasons::kMaxRestartsReached,
           "`caravan logs {0}` and `caravan events {0}` tell why it failed so often; "
           "spec.failurePolicy.maxRestarts "
           "is the limit"},
    Advice{reasons::kDeadlineExceeded,
           "spec.activeDeadlineSeconds is over; a job with the same checkpoint path goes on where it was"},
    Advice{reasons::kFailurePolicyMatched, "a rule of spec.failurePolicy.rules ended it"},
    Advice{reasons::kOutOfMemory, "ask for more devices, or for a smaller micro-batch"},
    Advice{reasons::kNonFiniteLoss,
           "lower the learning rate, or look at the data; the checkpoint before is whole"}};

constexpr std::array kOfThePlan{
    Advice{reasons::kDoesNotFit,
           "`caravan estimate FILE` says what would fit on the nodes that there are; ask for other devices, "
           "or add "
           "nodes: the job is planned as soon as it fits"},
    Advice{reasons::kInvalidSpec, "correct the field and submit the job again"},
    Advice{reasons::kNewerSpec, "have the operator updated, or submit the job without those fields"},
    Advice{reasons::kDamagedPlan, "do as the message says"}};

constexpr std::array kOfTheQueue{
    Advice{reasons::kQueueMissing,
           "give the job the label kueue.x-k8s.io/queue-name; `kubectl get localqueue` shows "
           "which there are"},
    Advice{reasons::kKueueMissing, "do as the message says, or take another spec.scheduling.gang.provider"},
    Advice{reasons::kPriorityClassMissing,
           "name a class that is there: `kubectl get priorityclass,workloadpriorityclass`"}};

constexpr std::array kOfScheduling{
    Advice{reasons::kNotAllowed, "ask whoever runs the cluster (docs/user/install.md)"},
    Advice{reasons::kNoDomain, "label the nodes, or take another spec.scheduling.topology"},
    Advice{reasons::kWaitingForQuota, "its turn comes when the queue admits it"}};

// The job, as commands take it: "tiny -n team".
std::string words_for(const ClusterFacts& facts) {
  const kube::ObjectKey& key = facts.job.job.key;
  return key.name + place_options(key.name_space, facts.context);
}

template <std::size_t N>
std::string advice_for(const std::array<Advice, N>& all, const std::string& reason) {
  const auto found = std::ranges::find_if(all, [&](const Advice& advice) { return advice.reason == reason; });
  return found == all.end() ? "" : found->words;
}

const Condition* when(const v1alpha1::JobStatus& status, const char* type, const char* value) {
  const Condition* condition = find_condition(status, type);
  return condition != nullptr && condition->status() == value ? condition : nullptr;
}

std::string words_of(const Condition& condition) {
  return condition.message().empty() ? condition.reason()
                                     : fmt::format("{}: {}", condition.reason(), condition.message());
}

bool lasts(const Condition& condition, controller::TimePoint now, std::chrono::seconds how_long) {
  const auto since = controller::to_time(condition.last_transition_time());
  return since && now - *since >= how_long;
}

std::optional<Finding> end_of_job(const v1alpha1::JobStatus& status, const std::string& job) {
  if (const Condition* complete = when(status, conditions::kComplete, "True"))
    return Finding{Gravity::kGood, "it is complete: " + words_of(*complete), ""};
  const Condition* failed = when(status, conditions::kFailed, "True");
  if (failed != nullptr && failed->reason() == controller::kCancelledReason)
    return Finding{Gravity::kNotice, "it was cancelled: " + words_of(*failed), ""};
  if (failed != nullptr)
    return Finding{Gravity::kProblem, "it failed: " + words_of(*failed),
                   fmt::format(fmt::runtime(advice_for(kOfTheEnd, failed->reason())), job)};
  return std::nullopt;
}

std::optional<Finding> nobody_cares(const Job& job, controller::TimePoint now) {
  const std::string& other = job.spec.managed_by();
  if (!other.empty() && other != controller::kController)
    return Finding{Gravity::kNotice,
                   fmt::format("spec.managedBy gives it to {}, which decides when it runs", other), ""};
  if (!job.status.conditions().empty()) return std::nullopt;
  if (now - job.created_at < kUnseen)
    return Finding{Gravity::kNotice, "it is new, and no operator has looked at it yet",
                   "ask again in a few seconds"};
  return Finding{Gravity::kProblem, "no operator has looked at it",
                 "see whether one runs (`kubectl -n caravan-system get pods`) and serves this namespace"};
}

std::optional<Finding> suspension(const v1alpha1::JobStatus& status, const std::string& job) {
  const Condition* suspended = when(status, conditions::kSuspended, "True");
  if (suspended == nullptr) return std::nullopt;
  if (suspended->reason() == reasons::kByQueue)
    return Finding{Gravity::kNotice, "its queue took the machines back: " + words_of(*suspended),
                   "it goes on when the queue admits it again"};
  return Finding{Gravity::kNotice, "it is suspended: " + words_of(*suspended),
                 fmt::format("`caravan resume {}`", job)};
}

std::optional<Finding> planning(const v1alpha1::JobStatus& status) {
  const Condition* planned = when(status, conditions::kPlanned, "False");
  if (planned == nullptr) return std::nullopt;
  return Finding{Gravity::kProblem, "there is no plan for it: " + words_of(*planned),
                 advice_for(kOfThePlan, planned->reason())};
}

std::optional<Finding> queueing(const v1alpha1::JobStatus& status) {
  const Condition* reserved = when(status, conditions::kQuotaReserved, "False");
  if (reserved == nullptr) return std::nullopt;
  const std::string advice = advice_for(kOfTheQueue, reserved->reason());
  return Finding{
      advice.empty() ? Gravity::kNotice : Gravity::kProblem,
      "its queue has not admitted it: " + words_of(*reserved),
      advice.empty()
          ? "its turn comes when others end; `kubectl describe localqueue` shows what the queue has"
          : advice};
}

// Pods with the same trouble are told once.
Findings troubles_of_pods(const std::vector<PodView>& pods) {
  std::map<std::string, std::vector<std::string>> by_trouble;
  for (const PodView& pod : pods) {
    if (pod.alive() && !pod.trouble.empty()) by_trouble[pod.trouble].push_back(pod.name);
  }
  Findings findings;
  for (const auto& [trouble, names] : by_trouble) {
    const std::string others = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    const std::size_t advice = trouble.rfind("; ");
    findings.push_back({Gravity::kProblem,
                        fmt::format("pod {}{}: {}", names.front(), others, trouble.substr(0, advice)),
                        advice == std::string::npos ? "" : trouble.substr(advice + 2)});
  }
  return findings;
}

// Of what a pod needs that no node offers, whatever runs there. Of devices that a claim brings nodes say
// nothing.
std::optional<Finding> missing_devices(const Job& job, const std::optional<std::vector<NodeView>>& nodes) {
  if (!nodes || job.spec.resources().device().kind() == v1alpha1::Device::CPU) return std::nullopt;
  if (controller::has_claimed_devices(job.spec.worker())) return std::nullopt;
  const std::string& resource = job.spec.resources().device().resource_name();
  const auto pools = controller::device_pools(job.spec, *nodes);
  std::int64_t most = 0;
  for (const controller::DevicePool& pool : pools) most = std::max(most, pool.devices);
  if (most >= job.spec.resources().devices()) return std::nullopt;
  return Finding{Gravity::kProblem,
                 fmt::format("ready nodes that it may use have {} {} in pods of its size, and it needs {}",
                             most, resource, job.spec.resources().devices()),
                 "add nodes, or ask for fewer devices; `kubectl get nodes` shows which are not ready"};
}

// The API server's words: "exceeded quota: NAME, requested: RESOURCE=8,OTHER=2, used: ...".
bool names_quota(std::string_view message, const QuotaView& quota) {
  const auto has = [&](const std::string& text, std::string_view before, std::string_view after) {
    for (std::size_t at = message.find(text); at != std::string_view::npos; at = message.find(text, at + 1)) {
      const std::size_t end = at + text.size();
      const bool begins = at > 0 && before.find(message[at - 1]) != std::string_view::npos;
      if (begins && (end == message.size() || after.find(message[end]) != std::string_view::npos))
        return true;
    }
    return false;
  };
  return has("quota: " + quota.name, " ", ", ") && has(quota.resource, " ,", "=");
}

// One that is not used up may have too little left for the next pod: the refusal names it.
Findings quotas_in_the_way(const std::vector<QuotaView>& quotas, std::string_view refusal) {
  Findings findings;
  for (const QuotaView& quota : quotas) {
    const bool is_full = quota.used >= quota.hard;
    if (!is_full && !names_quota(refusal, quota)) continue;
    findings.push_back(
        {Gravity::kProblem,
         fmt::format("the namespace's quota {} {}: {} {} of {}", quota.name,
                     is_full ? "is used up" : "has too little left", quota.used, quota.resource, quota.hard),
         "free some of it, or ask whoever runs the cluster for more"});
  }
  return findings;
}

// What an event names as the cause of a slow start, and the pod's own status does not.
Findings warnings_of_pods(const std::vector<EventView>& events) {
  static const std::set<std::string> kTelling{"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox",
                                              "FailedToRetrieveImagePullSecret", "NetworkNotReady"};
  std::map<std::string, const EventView*> last;
  for (const EventView& event : events) {
    if (event.is_warning && kTelling.contains(event.reason)) last[event.reason] = &event;
  }
  Findings findings;
  for (const auto& [reason, event] : last) {
    findings.push_back(
        {Gravity::kProblem, fmt::format("{}: {}: {}", about(*event), reason, event->message),
         reason.ends_with("Mount") || reason.ends_with("Volume")
             ? "see whether the claim is bound, and whether its volume may be used on that node"
             : ""});
  }
  return findings;
}

void append(Findings more, Findings& to) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Findings scheduling(const ClusterFacts& facts) {
  const v1alpha1::JobStatus& status = facts.job.job.status;
  const Condition* waits = when(status, conditions::kScheduled, "False");
  if (waits == nullptr) return {};
  const std::string advice = advice_for(kOfScheduling, waits->reason());
  Findings findings = troubles_of_pods(facts.job.pods);
  if (auto missing = missing_devices(facts.job.job, facts.nodes)) findings.push_back(*std::move(missing));
  append(warnings_of_pods(facts.job.events), findings);
  if (waits->message().find("quota") != std::string::npos)
    append(quotas_in_the_way(facts.quotas, waits->message()), findings);
  const bool is_told = !findings.empty() && advice.empty();
  if (!is_told)
    findings.insert(findings.begin(), {advice.empty() ? Gravity::kNotice : Gravity::kProblem,
                                       "its pods wait: " + words_of(*waits), advice});
  return findings;
}

std::optional<Finding> rendezvous(const ClusterFacts& facts) {
  const Condition* running = find_condition(facts.job.job.status, conditions::kRunning);
  if (running == nullptr || running->reason() != reasons::kRendezvous) return std::nullopt;
  if (!lasts(*running, facts.job.now, kSlowRendezvous))
    return Finding{Gravity::kNotice, "its agents meet: " + running->message(), ""};
  return Finding{
      Gravity::kProblem, "its agents do not find each other: " + running->message(),
      fmt::format("`caravan logs {} --all` shows what each waits for; see whether the cluster's name "
                  "server answers pods, and whether a network policy of the namespace stands between them",
                  words_for(facts))};
}

Findings running(const v1alpha1::JobStatus& status, const std::string& job) {
  Findings findings;
  const std::string logs = fmt::format("`caravan logs {}` shows more", job);
  if (const Condition* stalled = when(status, conditions::kStalled, "True"))
    findings.push_back({Gravity::kProblem, "no step is made: " + words_of(*stalled), logs});
  if (const Condition* restarting = when(status, conditions::kRestarting, "True"))
    findings.push_back({Gravity::kProblem, "it starts again: " + words_of(*restarting), logs});
  if (const Condition* slow = when(status, conditions::kStraggling, "True"))
    findings.push_back({Gravity::kNotice, "a rank is slow: " + words_of(*slow),
                        "look at that machine: clocks, heat, other work on it (docs/user/monitoring.md)"});
  if (const Condition* failing = when(status, conditions::kCheckpointFailing, "True"))
    findings.push_back({Gravity::kProblem, "checkpoints fail: " + words_of(*failing),
                        "see whether the volume is full or gone"});
  for (const v1alpha1::FailedMachine& machine : status.failed_machines()) {
    if (machine.failures() >= 2)
      findings.push_back({Gravity::kNotice,
                          fmt::format("{} attempts ended by node {}", machine.failures(), machine.name()),
                          "its new pods avoid it; have that machine looked at"});
  }
  if (controller::makes_steps(status))
    findings.push_back({Gravity::kGood, "it trains: " + progress_line(status), ""});
  return findings;
}

// The first thing on the way that holds the job up.
std::optional<Finding> before_pods(const ClusterFacts& facts) {
  const Job& job = facts.job.job;
  const std::string words = words_for(facts);
  if (auto end = end_of_job(job.status, words)) return end;
  if (job.being_deleted) return Finding{Gravity::kNotice, "it is being deleted; its pods end first", ""};
  if (auto unseen = nobody_cares(job, facts.job.now)) return unseen;
  if (auto suspended = suspension(job.status, words)) return suspended;
  if (auto unplanned = planning(job.status)) return unplanned;
  return queueing(job.status);
}

}  // namespace

std::vector<Finding> diagnose(const ClusterFacts& facts) {
  if (auto first = before_pods(facts)) return {*std::move(first)};
  Findings findings = scheduling(facts);
  if (findings.empty()) {
    if (auto meeting = rendezvous(facts)) findings.push_back(*std::move(meeting));
  }
  append(running(facts.job.job.status, words_for(facts)), findings);
  if (findings.empty())
    findings.push_back({Gravity::kNotice,
                        fmt::format("it is {}, and nothing holds it up", facts.job.job.status.state()), ""});
  return findings;
}

std::vector<QuotaView> read_quota(const kube::Json& quota) {
  std::vector<QuotaView> views;
  const kube::Json* hard = kube::find(quota, {"status", "hard"});
  if (hard == nullptr || !hard->is_object()) return views;
  for (const auto& limit : hard->get_object()) {
    const std::string resource(limit.key());
    const auto most = limit.value().is_string() ? parse_quantity(std::string(limit.value().get_string()))
                                                : Result<std::int64_t>(bad_input("no quantity"));
    const auto used = parse_quantity(kube::text_at(quota, {"status", "used", resource}));
    if (most && used) views.push_back({kube::text_at(quota, {"metadata", "name"}), resource, *used, *most});
  }
  return views;
}

}  // namespace caravan::cli
