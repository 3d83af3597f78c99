#include "worker/trainer/loop/command_listener.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/json.h"

namespace caravan::trainer {

CommandListener::CommandListener(int fd, const ActivityBoard& board, const Reporter& reporter)
    : board_(board), reporter_(reporter) {
  if (fd < 0) return;
  leave_.reset(eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([this, fd] { listen(fd); });
}

CommandListener::~CommandListener() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  if (write(leave_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

std::optional<int> CommandListener::stop_after_step() const {
  const int step = stop_after_step_.load();
  return step == kNone ? std::nullopt : std::optional(step);
}

std::optional<std::string> CommandListener::take_save() const {
  const std::scoped_lock lock(mutex_);
  return std::exchange(save_, std::nullopt);
}

void CommandListener::listen(int fd) {
  std::string pending;
  std::array<char, 4096> buffer;
  for (;;) {
    std::array<pollfd, 2> ready{
        {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = leave_.get(), .events = POLLIN, .revents = 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) return;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count == 0) _exit(EXIT_FAILURE);
    if (count < 0) continue;
    pending.append(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1))
      obey(pending.substr(0, end));
  }
}

void CommandListener::obey(const std::string& line) {
  const auto command = from_json<v1alpha1::RankCommand>(line);
  if (!command) {
    fmt::print(stderr, "command from the agent: {}\n", command.error().message);
  } else if (command->has_stop_after_step()) {
    stop_after_step_ = command->stop_after_step();
  } else if (command->save()) {
    const std::scoped_lock lock(mutex_);
    save_ = command->request();
  } else if (command->tell_activity()) {
    reporter_.activity(board_.shown(), board_.shown_saving());
  }
}

}  // namespace caravan::trainer
