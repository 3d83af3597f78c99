// Writes Events without ever holding up who reports them.
//
// record() only queues; a thread of its own writes. When the queue is full, or too much of it is of one
// namespace, or the server refuses, the event is dropped and the observer warned: events are hints,
// conditions are the truth. An event that the server has meanwhile dropped (its time to live is an hour) is
// created anew.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "kube/client/client.h"
#include "kube/events/event_series.h"

namespace caravan::kube {

class EventRecorder {
 public:
  static constexpr std::size_t kLongestQueue = 4096;
  static constexpr std::size_t kMostOfANamespace = 256;

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
  EventNote take();
  void write(const CallContext& context, const EventNote& note);
  ApiStatus send(const CallContext& context, const EventWrite& write);

  Client& client_;
  Clock& clock_;
  Observer& observer_;
  EventSeries series_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<EventNote> queue_;
  std::map<std::string, std::size_t> queued_of_;  // by namespace; none is zero
  std::optional<Clock::TimePoint> writing_since_;
  std::jthread thread_;
};

}  // namespace caravan::kube
