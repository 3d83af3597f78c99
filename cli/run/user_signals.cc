#include "cli/run/user_signals.h"

#include <poll.h>

#include <csignal>
#include <vector>

#include "common/process.h"

namespace caravan::cli {
namespace {

bool is_ignored(int signal) {
  struct sigaction current {};
  return sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

Result<UserSignals> UserSignals::catch_all() {
  std::vector<int> signals = {SIGINT, SIGTERM, SIGUSR1};
  if (!is_ignored(SIGHUP)) signals.push_back(SIGHUP);  // nohup: the run outlives its terminal
  Result<UniqueFd> descriptor = signals_as_descriptor(signals);
  if (!descriptor) return tl::unexpected(descriptor.error());
  return UserSignals{std::move(*descriptor)};
}

bool UserSignals::end_is_asked() {
  sigset_t unread;
  if (sigpending(&unread) != 0) return false;
  return sigismember(&unread, SIGINT) == 1 || sigismember(&unread, SIGTERM) == 1 ||
         sigismember(&unread, SIGHUP) == 1;
}

bool UserSignals::ask_to_end(std::chrono::milliseconds within) const {
  pollfd arrived{descriptor.get(), POLLIN, 0};
  poll(&arrived, 1, static_cast<int>(within.count()));
  while (const auto signal = read_signal(descriptor.get())) {
    if (*signal != SIGUSR1) return true;
  }
  return false;
}

}  // namespace caravan::cli
