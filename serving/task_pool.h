// Threads for what peers ask for and may block, such as a question to the API server: a few at a time, and a
// bounded number waits.
//
// Of one peer only some may wait and only some run, so whoever floods the queue waits behind himself, and
// whoever has nothing in it finds a place as long as not too many have. Peers whom somebody can make as many
// of as he likes are a group, which has at most half of the queue and of the threads. The destructor asks
// what runs to stop, waits for that, and drops the rest.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"

namespace caravan {

class TaskPool {
 public:
  struct Limits {
    std::size_t threads = 4;
    std::size_t waiting = 512;
    std::size_t waiting_in_all = 4096;  // beyond that, one of each peer that has none
    std::size_t waiting_of_one_peer = 16;
    std::size_t running_of_one_peer = 4;
  };
  using Task = std::function<void(const std::stop_token&)>;
  struct Peer {
    std::string name;
    std::string group = {};  // empty: of none; no peer's name
  };

  TaskPool(Clock& clock, const Limits& limits);
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // False: there is no place for it.
  bool post(const Peer& peer, Task task);
  // Of all tasks that run: how long ago the first began.
  Clock::Duration longest_run() const;

 private:
  using Counts = std::map<std::string, std::size_t>;  // by peer and by group; none is zero
  struct Waiting {
    Peer peer;
    Task task;
  };
  void run(const std::stop_token& stop, std::size_t thread);
  bool has_room_for(const Peer& peer) const;
  // The first whose peer and group may have one more run.
  std::deque<Waiting>::iterator next();

  Clock& clock_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;
  Counts waiting_of_;
  Counts running_of_;
  std::vector<std::optional<Clock::TimePoint>> running_;  // since when, by thread
  std::vector<std::jthread> threads_;
};

}  // namespace caravan
