#include "worker/agent/event_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "worker/agent/unix_seconds.h"

namespace caravan::agent {
namespace {

constexpr char kFolder[] = "tensorboard";  // beside checkpoints
constexpr double kGibibyte = 1 << 30;

}  // namespace

std::optional<tensorboard::EventPlace> event_place(const v1alpha1::JobPlan& job,
                                                   const AgentOptions& options) {
  if (!options.tensorboard.empty()) return tensorboard::EventPlace{.path = options.tensorboard};
  if (!options.in_pod || !job.spec().has_checkpoint()) return std::nullopt;
  return tensorboard::EventPlace{.path = job.spec().checkpoint().path(), .folder = kFolder};
}

tensorboard::StepScalars scalars_of(const v1alpha1::JobStep& step, double wall_seconds) {
  tensorboard::StepScalars all{.step = step.step(), .wall_seconds = wall_seconds};
  const auto add = [&all](const char* tag, double value) { all.scalars.push_back({tag, value}); };
  add("loss/training", step.loss());
  if (step.has_validation_loss()) add("loss/validation", step.validation_loss());
  add("optimizer/gradient_norm", step.gradient_norm());
  add("optimizer/learning_rate", step.learning_rate());
  add("speed/tokens_per_second", step.tokens_per_second());
  if (step.has_mfu()) add("speed/mfu", step.mfu());
  add("speed/step_seconds", step.seconds());
  const auto& peaks = step.peak_bytes_per_rank();
  if (!peaks.empty())
    add("memory/peak_gibibytes", static_cast<double>(*std::ranges::max_element(peaks)) / kGibibyte);
  return all;
}

struct EventLog::Shared {
  struct Entry {
    int attempt = 0;
    tensorboard::StepScalars step;
  };

  explicit Shared(Write write_step) : write(std::move(write_step)) {}

  void run();
  void miss(const std::string& why);

  const Write write;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> waiting;
  std::size_t missing = 0;
  bool is_ending = false;
  bool has_ended = false;
  bool is_left_alone = false;  // by whoever waited for its end
};

void EventLog::Shared::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return !waiting.empty() || is_ending; });
    if (waiting.empty()) break;
    const Entry entry = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    const Status written = write(entry.attempt, entry.step);
    lock.lock();
    if (is_left_alone) return;
    if (!written) miss(written.error().message);
  }
  has_ended = true;
  changed.notify_all();
}

// Under the lock.
void EventLog::Shared::miss(const std::string& why) {
  if (missing++ == 0) spdlog::warn("TensorBoard's curves lack steps, and training goes on: {}", why);
}

EventLog::EventLog(Write write, std::chrono::milliseconds patience)
    : patience_(patience), shared_(std::make_shared<Shared>(std::move(write))) {
  std::thread([shared = shared_] { shared->run(); }).detach();
}

EventLog::~EventLog() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
  if (!shared_->changed.wait_for(lock, patience_, [this] { return shared_->has_ended; })) {
    shared_->is_left_alone = true;
    shared_->missing += shared_->waiting.size() + 1;
  }
  if (shared_->missing > 0) spdlog::warn("TensorBoard's curves lack {} steps", shared_->missing);
}

void EventLog::tell(const v1alpha1::JobReport& report) {
  if (!report.has_step()) return;
  Shared::Entry entry{report.step().attempt(), scalars_of(report.step(), unix_seconds())};
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->waiting.size() == kMaxWaiting) return shared_->miss("the volume is too slow for them");
  shared_->waiting.push_back(std::move(entry));
  shared_->changed.notify_all();
}

}  // namespace caravan::agent
