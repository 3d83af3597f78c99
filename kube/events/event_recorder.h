// Writes Events without ever holding up who reports them.
//
// record() only queues; a thread of its own writes. When the queue is full, or the server refuses, the event
// is dropped and the observer warned: events are hints, conditions are the truth. An event that the server
// has meanwhile dropped (its time to live is an hour) is created anew.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "kube/client/client.h"
#include "kube/events/event_series.h"

namespace caravan::kube {

class EventRecorder {
 public:
  static constexpr std::size_t kLongestQueue = 1000;

  EventRecorder(Client& client, Clock& clock, Observer& observer, EventReporter reporter);
  // Stops at once; what is queued is dropped.
  ~EventRecorder();

  void record(EventNote note);
  // True when everything recorded so far is written or dropped, false when the time came first.
  bool flush(const CallContext& context);
  // How long one event is being written by now. Calls have time-outs: a long time means a thread that hangs.
  Clock::Duration longest_run() const;

 private:
  void run(const std::stop_token& stop);
  void write(const CallContext& context, const EventNote& note);
  ApiStatus send(const CallContext& context, const EventWrite& write);

  Client& client_;
  Clock& clock_;
  Observer& observer_;
  EventSeries series_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<EventNote> queue_;
  std::optional<Clock::TimePoint> writing_since_;
  std::jthread thread_;
};

}  // namespace caravan::kube
