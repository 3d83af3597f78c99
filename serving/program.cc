#include "serving/program.h"

#include <fcntl.h>
#include <poll.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "common/process.h"
#include "common/refusal.h"
#include "serving/log.h"

namespace caravan {

int run_program(const std::string& log_level, const std::function<Result<ExitCode>(int signal_fd)>& body) {
  start_log(log_level);
  allow_all_open_files();
  const auto signals = signals_as_descriptor({SIGINT, SIGTERM});
  const Result<ExitCode> end = signals.and_then(
      [&](const UniqueFd& descriptor) { return unless_refused([&] { return body(descriptor.get()); }); });
  if (end) return static_cast<int>(*end);
  log_line(spdlog::level::err, end.error().message);
  return static_cast<int>(end.error().code);
}

void end_at_once_on_signal(int signal_fd) {
  // A descriptor of its own: the thread may begin when the caller's is closed already.
  std::thread([own = UniqueFd(fcntl(signal_fd, F_DUPFD_CLOEXEC, 0))] {
    pollfd signal{own.get(), POLLIN, 0};
    while (poll(&signal, 1, -1) < 0) {
    }
    std::_Exit(static_cast<int>(ExitCode::kInterrupted));
  }).detach();
}

}  // namespace caravan
