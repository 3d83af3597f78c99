// What a reader of the job's story must be told to be up to date: after a reconnect it gets this first.
#pragma once

#include <optional>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {

class ReportPicture {
 public:
  void add(const v1alpha1::JobReport& report) {
    if (report.has_event()) add_event(report);
    if (report.has_step()) step_ = report;
    if (report.has_result()) result_ = report;
    if (!report.has_attempt_started()) return;
    attempt_ = report;
    step_.reset();
    stragglers_.clear();
  }
  // In the order in which they happened.
  std::vector<v1alpha1::JobReport> reports() const {
    std::vector<v1alpha1::JobReport> all;
    const bool failed_since =
        event_ && attempt_ && event_->event().attempt() >= attempt_->attempt_started().attempt();
    if (!failed_since && event_) all.push_back(*event_);
    if (attempt_) all.push_back(*attempt_);
    if (step_) all.push_back(*step_);
    all.insert(all.end(), stragglers_.begin(), stragglers_.end());
    if (failed_since) all.push_back(*event_);
    if (result_) all.push_back(*result_);
    return all;
  }

 private:
  void add_event(const v1alpha1::JobReport& report) {
    if (report.event().reason() == reasons::kStraggler) {
      stragglers_.push_back(report);
    } else {
      event_ = report;
    }
  }

  std::optional<v1alpha1::JobReport> attempt_;
  std::optional<v1alpha1::JobReport> step_;
  std::optional<v1alpha1::JobReport> event_;     // the last failure
  std::vector<v1alpha1::JobReport> stragglers_;  // of the attempt, of which the coordinator names a few
  std::optional<v1alpha1::JobReport> result_;
};

}  // namespace caravan::agent
