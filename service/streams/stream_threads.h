// Threads for streams that last and mostly wait for the API server, one for each, of which there are so many
// for all, for a caller, and for a namespace, which may have any number of callers.
//
// The destructor asks them to stop and waits for that. Safe for any thread.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "service/answer/fault.h"

namespace caravan::service {

class StreamThreads {
 public:
  struct Limits {
    std::size_t of_all = 128;
    std::size_t of_caller = 16;
    std::size_t of_namespace = 64;
  };
  struct Whose {
    std::string user = {};
    std::string name_space = {};
  };
  using Run = std::function<void(const std::stop_token&)>;

  // what: that a stream reads, such as "logs", for errors.
  StreamThreads(std::string what, const Limits& limits) : what_(std::move(what)), limits_(limits) {}
  ~StreamThreads();
  StreamThreads(const StreamThreads&) = delete;
  StreamThreads& operator=(const StreamThreads&) = delete;

  // run: is asked to stop when `stop` is, too. RESOURCE_EXHAUSTED where there is no place for it.
  Answer<void> start(Whose whose, std::stop_token stop, Run run);

 private:
  struct Running {
    Whose whose;
    std::atomic<bool> is_over = false;
    std::jthread thread;
  };

  const std::string what_;
  const Limits limits_;
  std::mutex mutex_;
  std::list<Running> running_;
};

}  // namespace caravan::service
