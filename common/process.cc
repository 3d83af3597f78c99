#include "common/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "common/file_contents.h"

namespace caravan {
namespace {

std::string system_error(std::string_view what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced =
        std::any_of(changes.begin(), changes.end(), [&](const auto& c) { return c.first == name; });
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : changes) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Everything the child needs, made before the fork: after it, only async-signal-safe calls are allowed.
struct ChildImage {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<char*> argv = {};
  std::vector<char*> envp = {};
  std::vector<unsigned long> processors = {};  // a bit each; empty: as they are
  pid_t parent = 0;
  int error_fd = -1;
  int last_fd = 2;  // that is open
};

// As sched_setaffinity takes them.
std::vector<unsigned long> mask_of(const std::vector<int>& processors) {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int processor : processors) {
    const auto bit = static_cast<std::size_t>(processor);
    if (mask.size() <= bit / kBits) mask.resize(bit / kBits + 1);
    mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  return mask;
}

int highest_open_descriptor() {
  int highest = 2;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", problem))
    highest = std::max(highest, std::atoi(entry.path().filename().c_str()));
  return highest;
}

bool redirect(int from, int to) {
  return from < 0 || from == to || dup2(from, to) >= 0;
}

// Away from the terminal, and from what is typed or read there.
bool begin_session() {
  close(STDIN_FILENO);
  return setsid() >= 0 && open("/dev/null", O_RDONLY) == STDIN_FILENO;
}

void prepare_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
}

// Linux has CLOSE_RANGE_CLOEXEC from 5.11 on.
void close_on_exec(int last_fd) {
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = 3; fd <= last_fd; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// At a limit of 0 the kernel would still start the program that core_pattern names, and wait for it; at 1 it
// does not (do_coredump in fs/coredump.c).
void forbid_core() {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1);
  setrlimit(RLIMIT_CORE, &limit);
}

[[noreturn]] void become(const SpawnOptions& options, const ChildImage& image) {
  prepare_signals();
  if (!options.own_session) setpgid(0, 0);
  // Where it is refused, as by a cpuset that has shrunk meanwhile, the child is slower and nothing else.
  if (!image.processors.empty())
    syscall(SYS_sched_setaffinity, 0, image.processors.size() * sizeof(unsigned long),
            image.processors.data());
  if (!options.dumps_core) forbid_core();
  bool ready = !options.own_session || begin_session();
  if (options.end_with_parent) {
    ready = ready && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    if (getppid() != image.parent) _exit(127);
  }
  ready = ready && redirect(options.stdout_fd, STDOUT_FILENO) && redirect(options.stderr_fd, STDERR_FILENO);
  close_on_exec(image.last_fd);
  for (const int fd : options.inherited_fds) ready = ready && fcntl(fd, F_SETFD, 0) == 0;
  if (ready) execve(options.program.c_str(), image.argv.data(), image.envp.data());
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = write(image.error_fd, &reason, sizeof reason);
  _exit(127);
}

ExitStatus from_wait_status(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.exit_code = info.si_status, .signal = 0};
  return {.exit_code = -1, .signal = info.si_status};
}

// What is left of its group is killed before the process is reaped: until then nobody else can get its
// number.
std::optional<ExitStatus> reap(pid_t pid, int flags, bool group_goes_on) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | flags) != 0) {
    if (errno != EINTR) return ExitStatus{};  // reaped elsewhere: cannot happen, and must not loop
  }
  if (info.si_pid == 0) return std::nullopt;
  if (!group_goes_on) kill(-pid, SIGKILL);
  waitid(P_PID, static_cast<id_t>(pid), nullptr, WEXITED);
  return from_wait_status(info);
}

// The reason why the child could not execute its program; 0 when it does. Ends with the pipe, which exec
// closes.
int read_exec_error(int fd) {
  int reason = 0;
  ssize_t count = 0;
  do {
    count = read(fd, &reason, sizeof reason);
  } while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

}  // namespace

std::string to_string(const ExitStatus& status) {
  if (status.signal == 0) return fmt::format("exit code {}", status.exit_code);
  const char* name = sigabbrev_np(status.signal);
  return name == nullptr ? fmt::format("signal {}", status.signal)
                         : fmt::format("signal {} (SIG{})", status.signal, name);
}

Result<Process> Process::spawn(const SpawnOptions& options) {
  auto error_pipe = make_pipe();
  if (!error_pipe) return tl::unexpected(error_pipe.error());

  ChildImage image{.arguments = {options.program}, .environment = merged_environment(options.environment)};
  image.arguments.insert(image.arguments.end(), options.arguments.begin(), options.arguments.end());
  image.argv = pointers_to(image.arguments);
  image.envp = pointers_to(image.environment);
  image.processors = mask_of(options.processors);
  image.parent = getpid();
  image.error_fd = error_pipe->write_end.get();
  image.last_fd = highest_open_descriptor();

  // Where it is ignored, as whoever started this program may leave it, nobody learns how a child ended.
  signal(SIGCHLD, SIG_DFL);
  const pid_t pid = fork();
  if (pid == 0) become(options, image);
  if (pid < 0) return failure(system_error(fmt::format("cannot start {}", options.program)));

  Process process(pid, UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), options.own_session);
  error_pipe->write_end.reset();
  if (const int reason = read_exec_error(error_pipe->read_end.get()); reason != 0) {
    return failure(fmt::format("cannot start {}: {}", options.program, std::strerror(reason)));
  }
  if (!process.pidfd_) return failure(system_error("pidfd_open"));
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      own_session_(other.own_session_),
      status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  own_session_ = other.own_session_;
  status_ = other.status_;
  return *this;
}

Process::~Process() {
  end();
}

void Process::end() {
  if (pid_ < 0 || status_) return;
  signal_group(SIGKILL);
  wait();
}

bool Process::is_stopped() const {
  siginfo_t info{};
  const bool asked = waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0;
  return asked && info.si_pid == pid_;
}

bool Process::is_ending() const {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of the kernel
  if (status_) return true;
  const std::string told = file_contents(fmt::format("/proc/{}/stat", pid_)).value_or("");
  std::istringstream fields(told.substr(told.rfind(')') + 1));  // behind its name
  std::string skipped;
  for (int field = 3; field < 9; ++field) fields >> skipped;
  unsigned long flags = 0;
  return fields >> flags && (flags & kExiting) != 0;
}

void Process::signal_group(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

std::optional<ExitStatus> Process::try_wait() {
  if (!status_) status_ = reap(pid_, WNOHANG, own_session_);
  return status_;
}

ExitStatus Process::wait() {
  if (!status_) status_ = reap(pid_, 0, own_session_);
  return *status_;
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure(system_error("cannot make a pipe"));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Status set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return failure(system_error("fcntl"));
  return {};
}

void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL);
}

void allow_all_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<UniqueFd> signals_as_descriptor(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return failure(system_error("pthread_sigmask"));
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return failure(system_error("signalfd"));
  return fd;
}

std::optional<int> read_signal(int signal_fd) {
  signalfd_siginfo info{};
  if (read(signal_fd, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace caravan
