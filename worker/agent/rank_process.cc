#include "worker/agent/rank_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "common/environment.h"
#include "common/json.h"
#include "worker/agent/rank_config.h"

namespace caravan::agent {
namespace {

// 1: a rank that crashes leaves a core, as the system has it. Otherwise none, since the gang would hear of
// the crash only when it is written.
constexpr char kCores[] = "CARAVAN_CORES";

// For this user alone, and through no link, which others may have put into a folder that they may write to.
UniqueFd create(const std::string& path, int flags = 0) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
  if (file && fchmod(file.get(), 0600) != 0) file.reset();  // one that was there keeps its rights
  return file;
}

Status write_file(const std::string& path, std::string_view text) {
  UniqueFd file = create(path);
  while (file && !text.empty()) {
    const ssize_t count = write(file.get(), text.data(), text.size());
    if (count < 0) break;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (file && text.empty() && close(file.release()) == 0) return {};
  return failure(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

// Of the whole lines that have come.
void parse_lines(LineReader& lines, int rank, std::vector<v1alpha1::RankReport>& reports) {
  for (auto line = lines.next(); !line || *line; line = lines.next()) {
    auto report = line.and_then([](const auto& text) { return from_json<v1alpha1::RankReport>(*text); });
    if (report) {
      reports.push_back(std::move(*report));
    } else {
      spdlog::warn("rank {} sent a line that is no report: {}", rank, report.error().message);
    }
  }
}

}  // namespace

RankProcess::RankProcess(int rank, Process process, Pipe pipes, std::string log_path,
                         std::optional<std::int64_t> kept_log_bytes)
    : rank_(rank),
      process_(std::move(process)),
      reports_(std::move(pipes.read_end)),
      commands_(std::move(pipes.write_end)),
      log_path_(std::move(log_path)),
      log_(log_path_, kept_log_bytes) {}

Result<RankProcess> RankProcess::start(RankLaunch launch) {
  const int rank = launch.config.rank();
  auto up = make_pipe();
  auto down = make_pipe();
  if (!up) return tl::unexpected(up.error());
  if (!down) return tl::unexpected(down.error());
  for (const int fd : {up->read_end.get(), down->write_end.get()}) {
    if (Status set = set_nonblocking(fd); !set) return tl::unexpected(set.error());
  }

  launch.config.set_report_fd(up->write_end.get());
  launch.config.set_command_fd(down->read_end.get());
  launch.config.set_master_listen_fd(launch.listen_fd);
  const std::string stem = launch.directory / fmt::format("rank-{}", rank);
  if (Status written = write_file(stem + ".json", to_json(launch.config, JsonLayout::kIndented) + '\n');
      !written) {
    return tl::unexpected(written.error());
  }
  const UniqueFd log = create(stem + ".log", O_APPEND);
  if (!log) return failure(fmt::format("cannot write {}.log: {}", stem, std::strerror(errno)));

  SpawnOptions options{.program = launch.trainer,
                       .arguments = {"--config", stem + ".json"},
                       .environment = rank_environment(launch.config),
                       .stdout_fd = log.get(),
                       .stderr_fd = log.get(),
                       .inherited_fds = {up->write_end.get(), down->read_end.get()},
                       .processors = std::move(launch.processors),
                       .dumps_core = environment_variable(kCores) == "1"};
  if (launch.listen_fd >= 0) options.inherited_fds.push_back(launch.listen_fd);
  auto process = Process::spawn(options);
  if (!process) return tl::unexpected(process.error());
  return RankProcess(rank, std::move(*process), {std::move(up->read_end), std::move(down->write_end)},
                     stem + ".log", launch.kept_log_bytes);
}

std::vector<v1alpha1::RankReport> RankProcess::read_reports() {
  std::vector<v1alpha1::RankReport> reports;
  std::array<char, 16384> buffer;
  while (reports_) {
    const ssize_t count = read(reports_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    if (count == 0) {
      reports_.reset();
      break;
    }
    lines_.add({buffer.data(), static_cast<std::size_t>(count)});
    parse_lines(lines_, rank_, reports);
  }
  return reports;
}

void RankProcess::command(const v1alpha1::RankCommand& command) {
  const std::string line = to_json(command) + "\n";
  if (write(commands_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    spdlog::warn("rank {} takes no commands: {}", rank_, std::strerror(errno));
  }
}

std::chrono::steady_clock::duration RankProcess::stopped_for(std::chrono::steady_clock::time_point now) {
  if (!process_.is_stopped()) {
    stopped_since_.reset();
    return {};
  }
  if (!stopped_since_) stopped_since_ = now;
  return now - *stopped_since_;
}

// One that ends already does so by itself. Whom the kernel kills for memory may take long to give it back.
void RankProcess::kill() {
  killed_ = killed_ || !process_.is_ending();
  process_.signal_group(SIGKILL);
}

}  // namespace caravan::agent
