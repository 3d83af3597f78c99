// Hears the agent's commands while the rank works, and says what it does when the agent asks. When the
// agent's end of the pipe closes, the agent is gone: the process ends at once, so that no orphan stays.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/unique_fd.h"
#include "worker/trainer/loop/activity.h"
#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

class CommandListener {
 public:
  // fd: -1 hears nothing. Board and reporter outlive the listener.
  CommandListener(int fd, const ActivityBoard& board, const Reporter& reporter);
  ~CommandListener();

  // The step after which to stop; 0: the one that runs.
  std::optional<int> stop_after_step() const;
  // The last request for a checkpoint since the last call; see RankCommand.request.
  std::optional<std::string> take_save() const;

 private:
  void listen(int fd);
  void obey(const std::string& line);

  static constexpr int kNone = -1;
  const ActivityBoard& board_;
  const Reporter& reporter_;
  std::atomic<int> stop_after_step_ = kNone;
  mutable std::mutex mutex_;
  mutable std::optional<std::string> save_;
  UniqueFd leave_;
  std::thread thread_;
};

}  // namespace caravan::trainer
