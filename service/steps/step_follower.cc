#include "service/steps/step_follower.h"

namespace caravan::service {
namespace {

tl::unexpected<Fault> nobody_reads() {
  return fault(Code::kCancelled, faults::kCancelled, "nobody reads the metrics any more");
}

}  // namespace

Answer<void> StepFollower::run(const std::stop_token& stop) {
  Clock::TimePoint answered_at = clock_.now();
  while (true) {
    const Answer<bool> has_ended =
        outside_.job_has_ended({.stop = stop, .deadline = clock_.now() + paces_.round});
    if (!has_ended) return tl::unexpected(has_ended.error());
    const bool goes_on = follow_ && !*has_ended;
    const Answer<bool> is_all = read_round(goes_on, stop);
    if (stop.stop_requested()) return nobody_reads();
    if (is_all) answered_at = clock_.now();
    if (!goes_on && is_all && *is_all) return {};
    if (!goes_on && clock_.now() - answered_at >= paces_.patience)
      return is_all ? Answer<void>() : tl::unexpected(is_all.error());
    if (!is_all && !clock_.sleep_until(clock_.now() + paces_.pause, stop)) return nobody_reads();
    if (clock_.now() - put_at_ >= paces_.silence && !put({})) return nobody_reads();
  }
}

Answer<bool> StepFollower::read_round(bool goes_on, const std::stop_token& stop) {
  bool is_all = false;
  const auto take = [&](const v1alpha1::WatchStepsResponse& response) {
    is_all = response.is_all();
    const bool is_wanted = response.samples().empty() || put(response);
    return is_wanted && (goes_on || !is_all);
  };
  const auto read = outside_.read({.stop = stop, .deadline = clock_.now() + paces_.round}, at_, take);
  if (!read) return tl::unexpected(read.error());
  return is_all;
}

bool StepFollower::put(const v1alpha1::WatchStepsResponse& response) {
  if (!response.samples().empty()) {
    const v1alpha1::MetricsSample& last = *response.samples().rbegin();
    at_ = {.attempt = last.attempt(), .step = last.step()};
  }
  put_at_ = clock_.now();
  return outside_.put(response, at_);
}

}  // namespace caravan::service
