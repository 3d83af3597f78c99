#include "kube/events/event_recorder.h"

#include <fmt/format.h>

namespace caravan::kube {
namespace {

ResourcePath events_in(const std::string& name_space) {
  return {.resource = kEvents, .name_space = name_space};
}

}  // namespace

EventRecorder::EventRecorder(Client& client, Clock& clock, Observer& observer, EventReporter reporter)
    : client_(client),
      clock_(clock),
      observer_(observer),
      series_(std::move(reporter)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(EventNote note) {
  const std::string name_space = key_of(note.regarding).name_space;
  const std::lock_guard guard(mutex_);
  const auto queued = queued_of_.find(name_space);
  const std::size_t of_namespace = queued == queued_of_.end() ? 0 : queued->second;
  if (queue_.size() >= kLongestQueue || of_namespace >= kMostOfANamespace) {
    observer_.on_warning(fmt::format("too many events, one is dropped: {}: {}", note.reason, note.note));
    return;
  }
  queued_of_[name_space] = of_namespace + 1;
  queue_.push_back(std::move(note));
  changed_.notify_all();
}

bool EventRecorder::flush(const CallContext& context) {
  std::unique_lock lock(mutex_);
  return clock_.wait_until(lock, changed_, context.deadline, context.stop,
                           [this] { return queue_.empty() && !writing_since_; });
}

Clock::Duration EventRecorder::longest_run() const {
  const std::lock_guard guard(mutex_);
  return writing_since_ ? clock_.now() - *writing_since_ : Clock::Duration::zero();
}

void EventRecorder::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (clock_.wait_until(lock, changed_, Clock::kNever, stop, [this] { return !queue_.empty(); })) {
    if (stop.stop_requested()) return;
    const EventNote note = take();
    writing_since_ = clock_.now();
    lock.unlock();
    write({.stop = stop}, note);
    lock.lock();
    writing_since_.reset();
    changed_.notify_all();
  }
}

EventNote EventRecorder::take() {
  EventNote note = std::move(queue_.front());
  queue_.pop_front();
  const auto queued = queued_of_.find(key_of(note.regarding).name_space);
  if (--queued->second == 0) queued_of_.erase(queued);
  return note;
}

void EventRecorder::write(const CallContext& context, const EventNote& note) {
  const auto next = [&] { return series_.add(note, clock_.now(), clock_.wall_now()); };
  const EventWrite first = next();
  ApiStatus sent = send(context, first);
  if (!sent && sent.error().is_not_found() && std::holds_alternative<PatchEvent>(first)) {
    series_.forget(note);
    sent = send(context, next());
  }
  if (sent) return;
  series_.forget(note);
  observer_.on_warning(fmt::format("an event is dropped: {}", sent.error().message));
}

ApiStatus EventRecorder::send(const CallContext& context, const EventWrite& write) {
  const auto ignore_answer = [](const Json&) {};
  if (const auto* patch = std::get_if<PatchEvent>(&write)) {
    return client_.merge(context, events_in(patch->key.name_space), patch->key.name, patch->patch)
        .map(ignore_answer);
  }
  const Json& event = std::get<CreateEvent>(write).event;
  return client_.create(context, events_in(key_of(event).name_space), event).map(ignore_answer);
}

}  // namespace caravan::kube
