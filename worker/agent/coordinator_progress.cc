// What the coordinator makes of the steps and checkpoints of its ranks: whether they hang, and which of them
// are slow.
#include <algorithm>
#include <utility>

#include "proto/caravan/v1alpha1/reasons.h"
#include "worker/agent/coordinator_state.h"

namespace caravan::agent {
namespace {

using std::chrono::seconds;
using v1alpha1::CoordinatorMessage;

constexpr seconds kAnswerTimeout{5};
// Metrics are read less often.
constexpr seconds kBetweenSlowdowns{5};

}  // namespace

void CoordinatorState::on_step(int rank, const v1alpha1::StepReport& report) {
  ranks_[static_cast<std::size_t>(rank)].last_step = report.step();
  last_step_ = std::max(last_step_, report.step());
  auto whole = steps_.add(attempt_, rank, report);
  if (!whole) return;
  clock_.finish_step(report.step(), whole->job.seconds(), now_);
  tell_speed(whole->job);
  step_seconds_ = whole->job.seconds();
  made_step_ = true;
  v1alpha1::JobReport told;
  *told.mutable_step() = std::move(whole->job);
  effects_.push_back(Tell{std::move(told)});
  find_stragglers(report.step(), whole->work_seconds);
}

// The first step of an attempt warms caches up and forms connections.
void CoordinatorState::tell_speed(v1alpha1::JobStep& step) {
  if (made_step_) {
    ++counted_steps_;
    counted_seconds_ += step.seconds();
  }
  if (const auto usual = clock_.usual_seconds()) step.set_usual_seconds(*usual);
  if (counted_steps_ > 0) step.set_mean_seconds(counted_seconds_ / counted_steps_);
}

void CoordinatorState::find_stragglers(int step, const std::vector<double>& work_seconds) {
  if (stragglers_.ratios().empty()) return;
  looked_at_ += config_.shape.world_size;
  for (const Straggler& slow : stragglers_.add(work_seconds)) {
    v1alpha1::JobReport told;
    v1alpha1::JobEvent& event = *told.mutable_event();
    event.set_reason(reasons::kStraggler);
    event.set_attempt(attempt_);
    event.set_rank(slow.rank);
    event.set_message(describe_straggler(slow, config_.shape.node_of(slow.rank), step));
    effects_.push_back(Tell{std::move(told)});
  }
  if (now_ - slowdowns_sent_ >= kBetweenSlowdowns) send_slowdowns();
}

void CoordinatorState::send_slowdowns() {
  slowdowns_sent_ = now_;
  looked_at_ += config_.shape.world_size;
  for (int node = 0; node < config_.shape.nodes; ++node) {
    CoordinatorMessage message;
    v1alpha1::RankSlowdowns& slowdowns = *message.mutable_rank_slowdowns();
    slowdowns.set_attempt(attempt_);
    for (int rank = config_.shape.first_rank(node); rank <= config_.shape.last_rank(node); ++rank)
      slowdowns.add_ratios(stragglers_.ratios()[static_cast<std::size_t>(rank)]);
    send(node, std::move(message));
  }
}

void CoordinatorState::on_checkpoint(const v1alpha1::CheckpointReport& report) {
  note_progress();
  if (report.outcome() == v1alpha1::CheckpointReport::Written) saved_step_ = report.step();
  v1alpha1::JobReport told;
  told.mutable_checkpoint()->set_attempt(attempt_);
  *told.mutable_checkpoint()->mutable_report() = report;
  save_wish_.hear(told.checkpoint());
  effects_.push_back(Tell{std::move(told)});
}

// Behind the last one's word all that is left is to give memory back, which may take longer than steps do.
void CoordinatorState::on_finished(Rank& rank, int step) {
  if (std::exchange(rank.finished_step, step) || ++finished_ < config_.shape.world_size) return;
  note_progress();
  clock_.expect_delay(step + 1);
}

void CoordinatorState::on_activity(int rank, const v1alpha1::RankActivity& activity) {
  Rank& answering = ranks_[static_cast<std::size_t>(rank)];
  if (!asked_at_ || answering.ended_well) return;
  if (!answering.activity) ++answers_;
  answering.activity = activity;
}

// A step that finishes while the ranks are asked ends the alarm.
void CoordinatorState::check_progress() {
  if (!clock_.is_overdue(config_.stall_timeout, now_)) {
    asked_at_.reset();
  } else if (!asked_at_) {
    ask_activity();
  } else if (now_ - *asked_at_ >= kAnswerTimeout || answers_ >= config_.shape.world_size - ended_well_) {
    end_stall();
  }
}

void CoordinatorState::ask_activity() {
  asked_at_ = now_;
  answers_ = 0;
  for (Rank& rank : ranks_) rank.activity.reset();
  looked_at_ += config_.shape.world_size;
  CoordinatorMessage message;
  message.mutable_ask_activity()->set_attempt(attempt_);
  send_to_all(std::move(message));
}

void CoordinatorState::end_stall() {
  const auto usual = clock_.usual_seconds();
  const bool by_steps = clock_.limit(config_.stall_timeout) < config_.stall_timeout;
  Stall stall{.silent_seconds = clock_.silence(*asked_at_).count(),
              .attempt = attempt_,
              .last_step = last_step_,
              .usual_step_seconds = by_steps ? usual : std::nullopt};
  for (int rank = 0; rank < config_.shape.world_size; ++rank) {
    const Rank& asked = ranks_[static_cast<std::size_t>(rank)];
    if (asked.ended_well) continue;
    stall.answers.push_back({.rank = rank, .node = config_.shape.node_of(rank), .activity = asked.activity});
  }
  if (!blame_.is_settled()) blame_.set_cause(describe_stall(stall));
  begin_stop("no step finished in time");
}

}  // namespace caravan::agent
