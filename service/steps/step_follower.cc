#include "service/steps/step_follower.h"

#include <utility>

namespace caravan::service {
namespace {

tl::unexpected<Fault> tells_nothing() {
  return fault(Code::kUnavailable, faults::kOperatorAway, "the operator tells nothing of the job");
}

}  // namespace

Answer<void> StepFollower::run(const std::stop_token& stop) {
  bool is_ending = false;  // nothing more is to come
  while (true) {
    const Answer<bool> has_ended =
        outside_.job_has_ended({.stop = stop, .deadline = clock_.now() + paces_.round});
    if (!has_ended) return tl::unexpected(has_ended.error());
    const bool goes_on = follow_ && !*has_ended;
    if (!goes_on && !std::exchange(is_ending, true)) answered_at_ = clock_.now();
    const Answer<bool> is_all = read_round(goes_on, stop);
    if (stop.stop_requested()) return nobody_reads("the metrics");
    if (!goes_on && is_all && *is_all) return {};
    if (!goes_on && clock_.now() - answered_at_ >= paces_.patience)
      return is_all ? tells_nothing() : tl::unexpected(is_all.error());
    if (!is_all && !clock_.sleep_until(clock_.now() + paces_.pause, stop)) return nobody_reads("the metrics");
    // Of what is ending, a reader would take it for progress, and ask again for ever behind the fault.
    if (goes_on && clock_.now() - put_at_ >= paces_.silence && !put({})) return nobody_reads("the metrics");
  }
}

Answer<bool> StepFollower::read_round(bool goes_on, const std::stop_token& stop) {
  bool is_all = false;
  const auto take = [&](const v1alpha1::WatchStepsResponse& response) {
    is_all = response.is_all();
    const bool is_wanted = response.samples().empty() || put(response);
    answered_at_ = clock_.now();  // behind that: a reader may be slow
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
