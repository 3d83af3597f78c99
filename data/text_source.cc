#include "data/text_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/standard_stream.h"

namespace caravan::data {
namespace {

tl::unexpected<Error> cannot_read(const std::string& name, int error) {
  return bad_input(fmt::format("{}: cannot read: {}; give readable text files, or - for standard input", name,
                               std::strerror(error)));
}

}  // namespace

Result<TextSource> TextSource::open(const std::string& path, int stop_fd) {
  const bool standard_input = path == kStandardStream;
  const std::string name = input_name(path);
  // O_NONBLOCK: it is the read of a named pipe that waits for its writer, because that can be stopped.
  UniqueFd descriptor(standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!descriptor || ::fstat(descriptor.get(), &status) != 0) return cannot_read(name, errno);
  if (S_ISDIR(status.st_mode)) return cannot_read(name, EISDIR);
  const auto size = S_ISREG(status.st_mode) ? std::optional<int64_t>(status.st_size) : std::nullopt;
  return TextSource(name, std::move(descriptor), stop_fd, size);
}

Status TextSource::wait_for_input() const {
  std::array<pollfd, 2> descriptors{pollfd{.fd = descriptor_.get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = stop_fd_, .events = POLLIN, .revents = 0}};
  while (::poll(descriptors.data(), descriptors.size(), -1) < 0) {
    if (errno != EINTR) return cannot_read(name_, errno);
  }
  if (descriptors[1].revents == 0) return {};
  return tl::unexpected(Error{"interrupted; nothing was written", ExitCode::kInterrupted});
}

Result<size_t> TextSource::read(std::span<char> output) {
  size_t filled = 0;
  while (filled < output.size()) {
    if (Status ready = wait_for_input(); !ready) return tl::unexpected(ready.error());
    const ssize_t count = ::read(descriptor_.get(), output.data() + filled, output.size() - filled);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return cannot_read(name_, errno);
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  return filled;
}

}  // namespace caravan::data
