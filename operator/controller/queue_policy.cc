#include "operator/controller/queue_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/replica_groups.h"

namespace caravan::controller {
namespace {

using Course = QueueVerdict::Course;
using Api = QueueView::Api;
using Texts = std::map<std::string, std::string>;

constexpr std::chrono::seconds kFrontLooksAgain{30};
constexpr std::chrono::minutes kBackLooksAgain{5};
// The places at the front change what a user does next; behind them a job's status is not written each time
// the queue moves.
constexpr int kToldExactly = 10;

bool holds_machines(const std::vector<PodView>& pods) {
  return std::ranges::any_of(pods, [](const PodView& pod) { return !pod.ended(); });
}

std::string words_of(const WorkloadView& workload, const char* type) {
  const kube::Json* condition = workload.condition(type);
  return condition == nullptr ? "" : kube::text_at(*condition, {"message"});
}

// Quota alone starts nothing while an admission check is not ready.
std::string words_of_check(const WorkloadView& workload) {
  return workload.check_waited_for.empty() ? "" : "; " + workload.check_waited_for;
}

std::string place_in_queue(const QueueView& queue) {
  if (!queue.position) return "";
  const int place = *queue.position + 1;
  if (place <= kToldExactly) return fmt::format("; it is number {} in its queue", place);
  int more_than = kToldExactly;
  while (more_than * 10 < place) more_than *= 10;
  return fmt::format("; more than {} are before it in its queue", more_than);
}

LookAgain when_places_change(const QueueView& queue) {
  if (!queue.has_positions) return queue.positions_may_come ? LookAgain(kBackLooksAgain) : std::nullopt;
  if (queue.position && *queue.position >= kToldExactly) return kBackLooksAgain;
  return kFrontLooksAgain;
}

// Empty: what was given agrees with itself and the job. A flavor that is not known yet gives nothing.
struct Given {
  PodPlacement placement;
  std::string conflict;
  std::string unknown_flavor;
};

void give(const Texts& labels, Given& given) {
  for (const auto& [key, value] : labels) {
    const auto [there, is_new] = given.placement.node_selector.try_emplace(key, value);
    if (!is_new && there->second != value)
      given.conflict = fmt::format("node label {} is to be both '{}' and '{}'", key, there->second, value);
  }
}

void give_domains(const Job& job, const WorkloadView& workload, const v1alpha1::JobPlan& plan,
                  PodPlacement& placement) {
  const v1alpha1::Topology& topology = job.spec.scheduling().topology();
  const bool is_asked =
      topology.mode() == v1alpha1::Topology::Preferred || topology.mode() == v1alpha1::Topology::Required;
  const ReplicaGroups replicas = replica_groups(plan);
  if (is_asked) placement.topology_index = replicas.index_of_node;
  if (workload.domains.empty()) return;
  std::vector<int> domain_of_index;
  for (std::size_t domain = 0; domain < workload.domains.size(); ++domain) {
    placement.domains.push_back(workload.domains[domain].node_labels);
    domain_of_index.insert(domain_of_index.end(), std::max(workload.domains[domain].pods, 0),
                           static_cast<int>(domain));
  }
  for (int node = 0; node < plan.nodes(); ++node) {
    const auto index = static_cast<std::size_t>(replicas.index_of_node[static_cast<std::size_t>(node)]);
    placement.domain_of_node.push_back(index < domain_of_index.size() ? domain_of_index[index] : -1);
  }
  // By these the queue knows that it has counted the pod.
  placement.labels[labels::kPodSet] = kPodSetName;
  placement.annotations[annotations::kWorkload] = workload.name;
  if (topology.mode() == v1alpha1::Topology::Preferred) {
    placement.annotations["kueue.x-k8s.io/podset-preferred-topology"] = topology.key();
  } else {
    placement.annotations["kueue.x-k8s.io/podset-unconstrained-topology"] = "true";
  }
}

Given given_by(const Snapshot& seen, const WorkloadView& workload, const v1alpha1::JobPlan& plan) {
  Given given;
  for (const std::string& name : workload.flavors) {
    const auto flavor = seen.queue.flavors.find(name);
    if (flavor == seen.queue.flavors.end()) {
      given.unknown_flavor = name;
      continue;
    }
    give(flavor->second.node_labels, given);
    std::ranges::copy(flavor->second.tolerations, std::back_inserter(given.placement.tolerations));
  }
  for (const PodSetUpdate& update : workload.updates) {
    give(update.node_selector, given);
    std::ranges::copy(update.tolerations, std::back_inserter(given.placement.tolerations));
    given.placement.labels.insert(update.labels.begin(), update.labels.end());
    given.placement.annotations.insert(update.annotations.begin(), update.annotations.end());
  }
  Given wanted = given;
  give(Texts(seen.job.spec.worker().node_selector().begin(), seen.job.spec.worker().node_selector().end()),
       wanted);
  given.conflict = wanted.conflict;
  give_domains(seen.job, workload, plan, given.placement);
  return given;
}

// What the queue waits for before it lets others start, where it is told to.
std::vector<Effect> tell_of_pods(const Snapshot& seen, const WorkloadView& workload, int nodes,
                                 TimePoint now) {
  const auto up = std::ranges::count_if(seen.pods, [](const PodView& pod) {
    return !pod.gone_by && (pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kSucceeded);
  });
  const bool ready = up >= nodes;
  const kube::Json* told = workload.condition(workload::kPodsReady);
  if (told != nullptr && workload.is_true(workload::kPodsReady) == ready) return {};
  const std::string before = told == nullptr ? "" : kube::text_at(*told, {"reason"});
  WorkloadCondition condition{workload::kPodsReady, ready, "", fmt::format("{} of {} pods run", up, nodes)};
  if (ready) {
    condition.reason = before == "WaitForRecovery" ? "Recovered" : "Started";
  } else {
    condition.reason = told == nullptr ? "WaitForStart" : "WaitForRecovery";
  }
  return {MergeStatus{kWorkloads, workload.name, conditions_patch(workload, {condition}, now)}};
}

class Judge {
 public:
  Judge(const Snapshot& seen, const v1alpha1::JobPlan& plan, const Settings& settings, TimePoint now)
      : seen_(seen), job_(seen.job), plan_(plan), settings_(settings), now_(now) {
    verdict_.gang = job_.status.gang();
  }

  QueueVerdict judge() {
    if (gang_provider(job_) != v1alpha1::Gang::Kueue) return turn_away();
    if (seen_.queue.api == Api::kUnknown) return hold("", "");
    if (seen_.queue.api == Api::kAbsent)
      return hold(
          reasons::kKueueMissing,
          "this cluster does not serve kueue.x-k8s.io/v1beta2, and the job asks for Kueue; install Kueue "
          "0.15 or later, or remove spec.scheduling.gang.provider or the label "
          "kueue.x-k8s.io/queue-name from the job while it is suspended");
    if (seen_.queue.api == Api::kRefused)
      return hold(reasons::kKueueMissing,
                  "this operator may not list the workloads, resourceflavors and workloadpriorityclasses of "
                  "kueue.x-k8s.io; the manifests of its installation have the rights");
    if (job_.spec.suspend()) return leave();
    const auto& workload = seen_.queue.workload;
    if (!workload || workload->being_deleted) return without_workload();
    verdict_.gang.set_workload(workload->name);
    if (workload->is_true(workload::kFinished))
      return stop("the queue has ended the job's Workload: " + words_of(*workload, workload::kFinished) +
                  "; set spec.suspend to true and then to false to queue the job anew");
    if (workload->is_true(workload::kEvicted) && workload->is_true(workload::kQuotaReserved))
      return give_back(*workload);
    const bool may_start =
        workload->is_true(workload::kAdmitted) && !workload->is_true(workload::kEvicted) && workload->active;
    return may_start ? run(*workload) : wait(*workload);
  }

 private:
  QueueVerdict say(Course course, bool reserved, std::string reason, std::string message) {
    verdict_.course = course;
    verdict_.reserved = reserved;
    verdict_.reason = std::move(reason);
    verdict_.message = std::move(message);
    return std::move(verdict_);
  }

  QueueVerdict hold(std::string reason, std::string message) {
    const Course course = verdict_.gang.admitted() ? Course::kHolds : Course::kWaits;
    return say(course, false, std::move(reason), std::move(message));
  }

  QueueVerdict stop(std::string message) {
    verdict_.gang.clear_admitted();
    return say(Course::kStops, false, reasons::kPending, std::move(message));
  }

  // The job asked for a queue once, and does so no longer.
  QueueVerdict turn_away() {
    const auto& workload = seen_.queue.workload;
    if (workload && !workload->being_deleted)
      verdict_.effects.emplace_back(DeleteChild{kWorkloads, workload->name, workload->uid});
    if (!workload && seen_.queue.api == Api::kServed) verdict_.gang.clear_workload();
    verdict_.gang.clear_admitted();
    return std::move(verdict_);
  }

  // The user suspends the job: it waits in no queue meanwhile, and may ask for something else afterwards.
  QueueVerdict leave() {
    verdict_.gang.clear_admitted();
    verdict_.gang.clear_workload();
    const auto& workload = seen_.queue.workload;
    if (workload && !workload->being_deleted && !holds_machines(seen_.pods))
      verdict_.effects.emplace_back(DeleteChild{kWorkloads, workload->name, workload->uid});
    return say(Course::kWaits, false, conditions::kSuspended,
               "the job is suspended, and waits in no queue meanwhile");
  }

  bool was_stopped_by_queue() const {
    const v1alpha1::Condition* suspended = find_condition(job_.status, conditions::kSuspended);
    return suspended != nullptr && suspended->status() == "True" && suspended->reason() == reasons::kByQueue;
  }

  QueueVerdict without_workload() {
    const bool is_known = !verdict_.gang.workload().empty();
    if (is_known || was_stopped_by_queue()) {
      verdict_.gang.clear_workload();
      verdict_.gang.clear_admitted();
      return say(Course::kStops, false, reasons::kWorkloadDeleted,
                 fmt::format("somebody has deleted workload {}, and with it the job's place and quota; set "
                             "spec.suspend to true and then to false to queue the job anew",
                             workload_name(job_)));
    }
    const std::string queue = queue_of(job_);
    if (queue.empty())
      return say(Course::kWaits, false, reasons::kQueueMissing,
                 "the job asks for Kueue and names no queue; suspend it and set spec.scheduling.queue to a "
                 "LocalQueue of its namespace, or give it the label kueue.x-k8s.io/queue-name");
    if (!seen_.queue.missing_priority.empty())
      return say(Course::kWaits, false, reasons::kPriorityClassMissing,
                 seen_.queue.missing_priority + " is not there; create it, or correct the job");
    // One that is being deleted is waited for.
    if (!seen_.queue.workload)
      verdict_.effects.emplace_back(
          CreateChild{kWorkloads, workload_intent(job_, plan_, seen_.queue.priority, settings_)});
    return say(Course::kWaits, false, reasons::kPending,
               fmt::format("workload {} is handed to queue {}", workload_name(job_), queue));
  }

  QueueVerdict give_back(const WorkloadView& workload) {
    if (!holds_machines(seen_.pods))
      verdict_.effects.emplace_back(MergeStatus{kWorkloads, workload.name, release_patch(workload, now_)});
    return stop("the queue takes back what it had given: " + words_of(workload, workload::kEvicted));
  }

  QueueVerdict run(const WorkloadView& workload) {
    Given given = given_by(seen_, workload, plan_);
    if (!given.conflict.empty())
      return say(Course::kFails, true, reasons::kInvalidSpec,
                 "what the queue gave cannot be used: " + given.conflict);
    if (!given.unknown_flavor.empty())
      return say(
          verdict_.gang.admitted() ? Course::kHolds : Course::kWaits, true, reasons::kQuotaReserved,
          fmt::format("resourceflavor {}, which the queue gave, is not known yet", given.unknown_flavor));
    verdict_.placement = std::move(given.placement);
    verdict_.effects = tell_of_pods(seen_, workload, plan_.nodes(), now_);
    verdict_.gang.set_admitted(true);
    return say(Course::kRuns, true, reasons::kQuotaReserved, words_of(workload, workload::kAdmitted));
  }

  QueueVerdict wait(const WorkloadView& workload) {
    const kube::Json* quota = workload.condition(workload::kQuotaReserved);
    std::string message = quota == nullptr
                              ? fmt::format("workload {} waits in queue {}", workload.name, queue_of(job_))
                              : kube::text_at(*quota, {"message"});
    if (!workload.active)
      message = fmt::format("workload {} is deactivated and waits for spec.active to become true: {}",
                            workload.name, words_of(workload, workload::kEvicted));
    const bool must_stop = verdict_.gang.admitted() || holds_machines(seen_.pods) || was_stopped_by_queue();
    verdict_.gang.clear_admitted();
    verdict_.look_again = when_places_change(seen_.queue);
    const bool reserved = workload.is_true(workload::kQuotaReserved);
    std::string reason = quota == nullptr ? reasons::kPending : kube::text_at(*quota, {"reason"});
    if (reserved || !workload.active) message += words_of_check(workload);
    return say(must_stop ? Course::kStops : Course::kWaits, reserved, std::move(reason),
               message + (reserved ? "" : place_in_queue(seen_.queue)));
  }

  const Snapshot& seen_;
  const Job& job_;
  const v1alpha1::JobPlan& plan_;
  const Settings& settings_;
  TimePoint now_;
  QueueVerdict verdict_;
};

}  // namespace

QueueVerdict judge_queue(const Snapshot& snapshot, const v1alpha1::JobPlan& plan, const Settings& settings,
                         TimePoint now) {
  return Judge(snapshot, plan, settings, now).judge();
}

std::vector<Effect> leave_queue(const Snapshot& snapshot, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto& workload = snapshot.queue.workload;
  if (!workload || workload->being_deleted || workload->is_true(workload::kFinished)) return {};
  if (holds_machines(snapshot.pods)) return {};
  const bool failed = is_true(status, conditions::kFailed);
  const WorkloadCondition finished{workload::kFinished, true, failed ? "Failed" : "Succeeded",
                                   failed ? "the job has failed" : "the job is complete"};
  return {MergeStatus{kWorkloads, workload->name, conditions_patch(*workload, {finished}, now)}};
}

}  // namespace caravan::controller
