#include "kube/queue/reconcile_loop.h"

#include <fmt/format.h>

#include <ctime>
#include <exception>

namespace caravan::kube {
namespace {

std::chrono::nanoseconds cpu_time_of_this_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

ReconcileLoop::ReconcileLoop(WorkQueue& queue, Clock& clock, Random random, Observer& observer,
                             ReconcileOptions options, Reconcile reconcile, AllKeys all_keys)
    : queue_(queue),
      clock_(clock),
      random_(std::move(random)),
      observer_(observer),
      options_(options),
      reconcile_(std::move(reconcile)),
      all_keys_(std::move(all_keys)) {}

void ReconcileLoop::start() {
  for (int worker = 0; worker < options_.workers; ++worker) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  threads_.emplace_back([this](const std::stop_token& stop) { resync(stop); });
}

void ReconcileLoop::stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void ReconcileLoop::work(const std::stop_token& stop) {
  while (const auto key = queue_.take(stop)) {
    observer_.on_taken(queue_.waited(*key));
    run_once({.stop = stop, .deadline = clock_.now() + options_.timeout}, *key);
  }
}

void ReconcileLoop::resync(const std::stop_token& stop) {
  while (true) {
    for (const ObjectKey& key : all_keys_()) queue_.add(key, Urgency::kBackground);
    const auto jitter =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.resync * random_() / 10.0);
    if (!clock_.sleep_until(clock_.now() + options_.resync + jitter, stop)) return;
  }
}

void ReconcileLoop::run_once(const CallContext& context, const ObjectKey& key) {
  const Clock::TimePoint started = clock_.now();
  const auto cpu_before = cpu_time_of_this_thread();
  ReconcileEnd end = ReconcileEnd::kException;
  std::string thrown = "an exception of unknown type";
  try {
    end = settle(key, reconcile_(context, key));
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
  }
  if (end == ReconcileEnd::kException) {
    observer_.on_reconcile_failed(key, fmt::format("the reconcile threw: {}", thrown));
    queue_.failed(key);
  }
  observer_.on_reconciled(end, clock_.now() - started, cpu_time_of_this_thread() - cpu_before);
}

ReconcileEnd ReconcileLoop::settle(const ObjectKey& key,
                                   const tl::expected<Action, ReconcileError>& outcome) {
  if (outcome && outcome->requeue_after) {
    queue_.succeeded_and_again(key, *outcome->requeue_after);
    return ReconcileEnd::kRequeued;
  }
  if (outcome) {
    queue_.succeeded(key);
    return ReconcileEnd::kDone;
  }
  observer_.on_reconcile_failed(key, outcome.error().message);
  if (outcome.error().terminal) {
    queue_.succeeded(key);
    return ReconcileEnd::kTerminalError;
  }
  queue_.failed(key);
  return ReconcileEnd::kError;
}

}  // namespace caravan::kube
