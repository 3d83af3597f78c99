#include "operator/job_watch.h"

#include <iterator>

namespace caravan::controller {

using namespace std::chrono_literals;

JobWatch::JobWatch(kube::Client& reader, Clock& clock, kube::Observer& observer, const Config& config)
    : queue_(clock, {.longest_retry = 30s, .share_of_a_namespace = std::max(1, config.workers / 2)}),
      board_(
          clock, history_,
          [this](const Reporter& reporter) { return caches_.facts_of(reporter.job, reporter.job_uid); },
          [this](const kube::ObjectKey& key, auto after) { queue_.add_after(key, after); }),
      caches_(
          reader, clock, observer, {.name_space = config.name_space, .read_nodes = config.read_nodes},
          [this](const kube::ObjectKey& key) { on_change(key); },
          [this](const std::string& uid) { board_.forget(uid); }),
      queues_(reader, clock, observer, config.name_space,
              {.on_workload = [this](const kube::Change& change) { caches_.on_child(change); },
               .on_change = [this] { look_at_all_jobs(); }}),
      positions_(reader, clock) {}

void JobWatch::take_up_work() {
  leads_ = true;
  // For these somebody waits; the others have their pods.
  for (const kube::ObjectKey& key : caches_.unplanned_job_keys()) queue_.add(key);
  look_at_all_jobs();
}

void JobWatch::on_change(const kube::ObjectKey& job) {
  if (leads_) queue_.add(job);
}

void JobWatch::look_at_all_jobs() {
  for (const kube::ObjectKey& key : caches_.job_keys()) queue_.add(key, kube::Urgency::kBackground);
}

Caches JobWatch::stores() const {
  Caches stores = caches_.stores();
  stores.queue = &queues_.caches();
  return stores;
}

std::vector<CacheState> JobWatch::cache_states() const {
  std::vector<CacheState> states = caches_.states();
  std::ranges::move(queues_.states(), std::back_inserter(states));
  return states;
}

void JobWatch::add_position(const CallContext& context, const Job& job, QueueView& view) {
  const QueuePositions::Answer answer =
      positions_.find(context, job.key.name_space, view.workload->queue, view.workload->name);
  view.has_positions = answer.is_told;
  view.positions_may_come = answer.may_be_told;
  view.position = answer.position;
}

}  // namespace caravan::controller
