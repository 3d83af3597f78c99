#include "operator/job_loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>

#include "operator/api/job_conditions.h"
#include "operator/api/names.h"
#include "serving/log.h"

namespace caravan::controller {

JobLoop::JobLoop(JobWatch& jobs, kube::Client& client, Clock& clock, Metrics& metrics, JobLedger& ledger,
                 kube::EventRecorder& events, Config config)
    : jobs_(jobs),
      clock_(clock),
      metrics_(metrics),
      ledger_(ledger),
      events_(events),
      cache_sync_(config.cache_sync),
      reconciler_(jobs.stores(), client, clock, std::move(config.settings), outside_of_the_reconciler()),
      loop_(
          jobs.queue(), clock, kube::system_random(), metrics, {.workers = config.workers},
          [this](const CallContext& context, const kube::ObjectKey& key) {
            return reconciler_.reconcile(context, key);
          },
          [this] { return jobs_.caches().job_keys(); }),
      gave_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // What they hold may be older than the last writes of the leader before.
  jobs_.caches().renew();
  log_line(spdlog::level::info, "listing anew what is in the caches");
  starter_ = std::jthread([this](const std::stop_token& stop) { begin(stop); });
}

void JobLoop::begin(const std::stop_token& stop) {
  if (!jobs_.caches().wait_while_pages_come(stop, cache_sync_)) {
    if (!stop.stop_requested()) eventfd_write(gave_up_.get(), 1);
    return;
  }
  // Not before: what is listed while the caches fill counts as changes, and would put every job in front.
  jobs_.take_up_work();
  loop_.start();
  jobs_.start_queues();
}

Status JobLoop::caches_missing() const {
  return failure(
      fmt::format("the caches of {} were not filled, and for {} s nothing came for them: without them a "
                  "leader can do nothing; see "
                  "the warnings above, and whether this operator may list and watch them "
                  "(deploy/install.yaml has the rules)",
                  fmt::join(jobs_.caches().unsynced(), ", "), cache_sync_.count()));
}

Reconciler::Outside JobLoop::outside_of_the_reconciler() {
  return {.progress = [this](const std::string& uid) { return jobs_.board().look_at(uid); },
          .forget = [this](const std::string& uid) { ledger_.forget(uid); },
          .record = [this](const Job& job, const Note& note) { tell(job, note); },
          .decided =
              [this](const Snapshot& snapshot, const Decision& decision, Clock::Duration took) {
                ledger_.look(snapshot, decision.status, clock_.now());
                if (!is_true(snapshot.job.status, conditions::kPlanned) &&
                    is_true(decision.status, conditions::kPlanned))
                  metrics_.on_planned(took);
              },
          .put_off = [this] { metrics_.on_stale_cache(); },
          .ask_for_checkpoint =
              [this](const std::string& uid, const std::string& request) {
                jobs_.board().ask_for_checkpoint(uid, request);
              },
          .ask_to_stop = [this](const std::string& uid) { jobs_.board().ask_to_stop(uid); },
          .gangs_ahead = [this](const Job& job) { return jobs_.caches().gangs_ahead(job); },
          .add_position = [this](const CallContext& context, const Job& job,
                                 QueueView& queue) { jobs_.add_position(context, job, queue); }};
}

void JobLoop::tell(const Job& job, const Note& note) {
  const bool is_bad = note.type == kube::EventType::kWarning;
  log_job(is_bad ? spdlog::level::warn : spdlog::level::info, job.key, note.text,
          {{"condition", note.action}, {"reason", note.reason}});
  events_.record({.regarding = job.reference,
                  .type = note.type,
                  .reason = note.reason,
                  .action = note.action,
                  .note = note.text});
}

}  // namespace caravan::controller
