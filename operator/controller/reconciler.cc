#include "operator/controller/reconciler.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "operator/api/names.h"
#include "operator/api/wall_time.h"
#include "operator/controller/decide.h"
#include "operator/controller/domain_policy.h"
#include "operator/controller/plan_record.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

// How soon to look again when only the caches are behind; a change that arrives comes first.
constexpr auto kCachesCatchUp = 100ms;
// What lasts is told again.
constexpr auto kTellAgain = 1h;

// UIDs of a job's children that nobody has deleted, as far as the cache knows.
void add_kept(const kube::Store& children, const std::string& name_space, const std::string& job_uid,
              std::set<std::string>& uids) {
  for (const kube::ObjectPtr& child : children.owned_by(name_space, job_uid)) {
    if (!child->is_being_deleted()) uids.emplace(child->uid());
  }
}

// Why nobody may act: what must be remembered stands in the status, and the pods of a job that is planned
// follow from its spec. Nothing could be written into such a status without losing the rest of it.
std::string obstacle_of(const Job& job) {
  constexpr const char* kAdvice = "what runs goes on, and nothing is changed until it can be read";
  const std::string& what =
      job.unreadable_status.empty() && has_plan(job.status) ? job.unreadable_spec : job.unreadable_status;
  return what.empty() ? "" : fmt::format("{}; {}", what, kAdvice);
}

}  // namespace

Reconciler::Reconciler(Caches caches, kube::Client& client, Clock& clock, Settings settings, Outside outside)
    : caches_(caches),
      clock_(clock),
      settings_(std::move(settings)),
      outside_(std::move(outside)),
      executor_(client, writes_, clock, settings_, outside_.record, outside_.ask_for_checkpoint,
                outside_.ask_to_stop) {}

tl::expected<kube::Action, kube::ReconcileError> Reconciler::reconcile(const CallContext& context,
                                                                       const kube::ObjectKey& key) {
  const kube::ObjectPtr object = caches_.jobs.get(key);
  if (!object) {
    forget(key);
    return kube::Action::done();
  }
  const std::string uid(object->uid());
  const Clock::TimePoint known_since = know(key, uid);
  if (!caches_are_current(key.name_space, uid)) {
    outside_.put_off();
    return kube::Action::requeue(kCachesCatchUp);
  }

  std::optional<Snapshot> snapshot = observe(caches_, claims_, reader_, key);
  if (!snapshot || snapshot->job.uid != uid) return kube::Action::requeue(kCachesCatchUp);
  if (const std::string obstacle = obstacle_of(snapshot->job); !obstacle.empty()) {
    warn(snapshot->job, reasons::kUnreadable, obstacle);
    return tl::unexpected(kube::ReconcileError{.message = obstacle, .terminal = true});
  }
  if (!settings_.reports_address.empty()) snapshot->reported_to_since = wall_time_of(known_since, clock_);
  add_own_knowledge(context, *snapshot);
  const Decision decision = decide_in_turn(*snapshot);
  const Executed executed = executor_.run(context, snapshot->job, decision);
  if (executed || executed.error().status_written) {
    for (const Note& note : decision.notes) outside_.record(snapshot->job, note);
  } else {
    claims_.forget(uid);
    if (executed.error().refused) warn_of_refusal(snapshot->job, executed.error().message);
  }
  remember(uid, decision, executed);
  return after(*snapshot, decision, executed);
}

// Of what no condition can tell.
void Reconciler::warn(const Job& job, const char* reason, const std::string& text) {
  outside_.record(job,
                  {.type = kube::EventType::kWarning, .reason = reason, .action = "Reconcile", .text = text});
}

// Of its status, which is tried again within half a minute.
void Reconciler::warn_of_refusal(const Job& job, const std::string& text) {
  {
    const std::scoped_lock lock(mutex_);
    const Clock::TimePoint now = clock_.now();
    std::optional<Clock::TimePoint>& told_at = memory_[job.uid].refusal_told_at;
    if (told_at && now - *told_at < kTellAgain) return;
    told_at = now;
  }
  warn(job, reasons::kStatusRefused, text);
}

// What does not come from the API server.
void Reconciler::add_own_knowledge(const CallContext& context, Snapshot& snapshot) {
  const std::string& uid = snapshot.job.uid;
  snapshot.progress = outside_.progress(uid);
  const Memory memory = memory_of(uid);
  snapshot.trouble = memory.trouble;
  snapshot.gangs_ahead = outside_.gangs_ahead(snapshot.job);
  const auto& workload = snapshot.queue.workload;
  if (workload && !workload->is_true(workload::kQuotaReserved))
    outside_.add_position(context, snapshot.job, snapshot.queue);
  if (snapshot.plan && !memory.written_plan.empty()) snapshot.plan->written = memory.written_plan;
}

// Who has chosen domains while another claimed some chooses again, and nobody claims any meanwhile.
Decision Reconciler::decide_in_turn(Snapshot& snapshot) {
  std::unique_lock turn(turn_to_claim_, std::defer_lock);
  while (true) {
    const Clock::TimePoint began = clock_.now();
    Decision decision = decide(snapshot, settings_, clock_.wall_now());
    const Clock::Duration took = clock_.now() - began;
    DomainDemands chosen = asked_by_new_pods(snapshot.job, decision, settings_);
    if (!chosen.empty() && !turn.owns_lock()) turn.lock();
    if (claims_.claim(snapshot.job.uid, std::move(chosen), snapshot.domain_claims)) {
      outside_.decided(snapshot, decision, took);
      return decision;
    }
    observe_room(caches_, claims_, snapshot);
  }
}

// When to look again.
tl::expected<kube::Action, kube::ReconcileError> Reconciler::after(const Snapshot& snapshot,
                                                                   const Decision& decision,
                                                                   const Executed& executed) {
  if (!executed) {
    if (!executed.error().overtaken)
      return tl::unexpected(kube::ReconcileError{.message = executed.error().message});
    outside_.put_off();
    return kube::Action::requeue(kCachesCatchUp);
  }
  if (*executed == Extent::kBatch) return kube::Action::requeue(0ms);
  if (!snapshot.trouble.empty())
    return kube::Action::requeue(kCachesCatchUp);  // the condition still tells of it
  return decision.look_again ? kube::Action::requeue(*decision.look_again) : kube::Action::done();
}

bool Reconciler::caches_are_current(const std::string& name_space, const std::string& job_uid) {
  std::map<std::string, const kube::Store*> by_plural{{kJobs.plural, &caches_.jobs},
                                                      {kube::kPods.plural, &caches_.pods},
                                                      {kServices.plural, &caches_.services},
                                                      {kConfigMaps.plural, &caches_.config_maps},
                                                      {kServiceAccounts.plural, &caches_.accounts},
                                                      {kNetworkPolicies.plural, &caches_.network_policies}};
  if (caches_.queue != nullptr) by_plural[kWorkloads.plural] = &caches_.queue->workloads;
  std::optional<std::set<std::string>> kept;  // found out when a deletion is outstanding
  const auto is_kept = [&](const std::string& uid) {
    if (!kept) {
      kept.emplace();
      add_kept(caches_.pods, name_space, job_uid, *kept);
      if (caches_.queue != nullptr) add_kept(caches_.queue->workloads, name_space, job_uid, *kept);
    }
    return kept->contains(uid);
  };
  return writes_.seen(
      job_uid,
      {.resource_version =
           [&](const std::string& plural) { return by_plural.at(plural)->resource_version(); },
       .holds = is_kept},
      clock_.now());
}

Reconciler::Memory Reconciler::memory_of(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  const auto found = memory_.find(job_uid);
  return found == memory_.end() ? Memory() : found->second;
}

void Reconciler::remember(const std::string& job_uid, const Decision& decision, const Executed& executed) {
  if (!executed && executed.error().overtaken) return;
  const std::scoped_lock lock(mutex_);
  Memory& memory = memory_[job_uid];
  const bool is_status_written = executed || executed.error().status_written;
  if (is_status_written) memory.refusal_told_at.reset();
  if (executed) memory.trouble.clear();
  if (!executed && is_status_written && executed.error().refused) memory.trouble = executed.error().message;
  // A batch may have ended before the plan was written.
  const bool is_whole = executed && *executed == Extent::kWhole;
  if (is_whole && !decision.plan_fingerprint.empty()) memory.written_plan = decision.plan_fingerprint;
  if (!executed) memory.written_plan.clear();
}

// A job that was made anew under the same name is another one.
Clock::TimePoint Reconciler::know(const kube::ObjectKey& key, const std::string& job_uid) {
  const Known now{job_uid, clock_.now()};
  {
    const std::scoped_lock lock(mutex_);
    const auto [known, is_new] = known_.try_emplace(key, now);
    if (is_new || known->second.uid == job_uid) return known->second.since;
  }
  forget(key);
  const std::scoped_lock lock(mutex_);
  known_[key] = now;
  return now.since;
}

void Reconciler::forget(const kube::ObjectKey& key) {
  std::string uid;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = known_.extract(key);
    if (known.empty()) return;
    uid = known.mapped().uid;
    memory_.erase(uid);
  }
  writes_.forget(uid);
  reader_.forget(uid);
  claims_.forget(uid);
  executor_.forget(uid);
  outside_.forget(uid);
}

}  // namespace caravan::controller
