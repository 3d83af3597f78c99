#include "common/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include "common/processors.h"
#include "common/testing/temporary_folder.h"

namespace caravan {
namespace {

using ::testing::HasSubstr;

SpawnOptions shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}};
}

std::string read_all(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t count = 0; (count = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

// What it writes; empty when it cannot be started.
std::string output_of(SpawnOptions options) {
  Result<Pipe> out = make_pipe();
  options.stdout_fd = out->write_end.get();
  const auto process = Process::spawn(options);
  out->write_end.reset();
  return process ? read_all(out->read_end.get()) : "";
}

// From now on this process has what Linux before 5.11 has.
void forget_close_range() {
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = std::size(rules), .filter = rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(2);
}

// Whether that succeeds where this program has a terminal.
bool succeeds_on_terminal(const SpawnOptions& options) {
  int screen = -1;
  const pid_t child = forkpty(&screen, nullptr, nullptr, nullptr);
  EXPECT_GE(child, 0);
  if (child == 0) {
    auto process = Process::spawn(options);
    _exit(process && process->wait().exit_code == 0 ? 0 : 1);
  }
  const UniqueFd open_screen(screen);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}

TEST(Process, ItsExitCodeIsSeen) {
  auto process = Process::spawn(shell("exit 7"));
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->wait(), (ExitStatus{.exit_code = 7, .signal = 0}));
  EXPECT_EQ(process->try_wait(), process->wait()) << "asked again, the same answer";
}

TEST(Process, TheSignalThatEndedItIsSeen) {
  auto process = Process::spawn(shell("kill -SEGV $$"));
  ASSERT_TRUE(process);
  EXPECT_EQ(to_string(process->wait()), "signal 11 (SIGSEGV)");
}

TEST(Process, ItsEndIsSeenWhereWhoeverStartedUsIgnoredIt) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  auto process = Process::spawn(shell("exit 7"));
  std::signal(SIGCHLD, before);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(process->wait(), (ExitStatus{.exit_code = 7, .signal = 0}));
}

TEST(Process, ItLeavesACoreAsTheSystemHasItOrNone) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  const rlimit all{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &all), 0);
  SpawnOptions options = shell("set -- $(grep 'core file' /proc/self/limits); echo $5");
  const std::string usual = output_of(options);
  options.dumps_core = false;
  const std::string none = output_of(options);
  setrlimit(RLIMIT_CORE, &before);
  const bool has_bound = before.rlim_max != RLIM_INFINITY;
  EXPECT_EQ(usual, has_bound ? fmt::format("{}\n", before.rlim_max) : "unlimited\n");
  EXPECT_EQ(none, before.rlim_max == 0 ? "0\n" : "1\n");
}

TEST(Process, ItMayOpenAsManyFilesAsTheSystemAllows) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  allow_all_open_files();
  Result<Pipe> out = make_pipe();
  SpawnOptions options = shell("[ $(ulimit -S -n) = $(ulimit -H -n) ] && echo all");
  options.stdout_fd = out->write_end.get();
  auto process = Process::spawn(options);
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(process);
  out->write_end.reset();
  EXPECT_EQ(read_all(out->read_end.get()), "all\n");
}

TEST(Process, ItRunsOnItsProcessorsAsFarAsItMay) {
  const std::vector<int> allowed = allowed_processors();
  const auto runs_on = [](std::vector<int> processors) {
    Result<Pipe> out = make_pipe();
    SpawnOptions options = shell("grep Cpus_allowed_list /proc/self/status");
    options.stdout_fd = out->write_end.get();
    options.processors = std::move(processors);
    auto process = Process::spawn(options);
    EXPECT_TRUE(process);
    out->write_end.reset();
    return read_all(out->read_end.get());
  };
  for (const int processor : allowed)
    EXPECT_EQ(runs_on({processor}), fmt::format("Cpus_allowed_list:\t{}\n", processor));
  const std::string all = runs_on({});
  EXPECT_EQ(runs_on(allowed), all);
  EXPECT_EQ(runs_on({60'000}), all) << "no machine has so many";
}

TEST(Process, ItsDescriptorIsReadableWhenItEnds) {
  auto process = Process::spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(process);
  pollfd entry{process->pidfd(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  EXPECT_FALSE(process->try_wait());
  process->signal_group(SIGKILL);
  EXPECT_EQ(poll(&entry, 1, -1), 1);
  EXPECT_EQ(process->try_wait(), (ExitStatus{.exit_code = -1, .signal = SIGKILL}));
}

TEST(Process, OneThatEndsIsSeenBeforeItIsReaped) {
  auto process = Process::spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(process);
  EXPECT_FALSE(process->is_ending());
  process->signal_group(SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(process->is_ending());
  process->wait();
  EXPECT_TRUE(process->is_ending());
}

TEST(Process, AStoppedOneIsSeenUntilItGoesOn) {
  auto process = Process::spawn(shell("kill -STOP $$; exec sleep 1000"));
  ASSERT_TRUE(process);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &info, WSTOPPED | WNOWAIT), 0);
  EXPECT_TRUE(process->is_stopped());
  EXPECT_TRUE(process->is_stopped()) << "asked again, the same answer";
  process->signal_group(SIGCONT);
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->pid()), &info, WCONTINUED), 0);
  EXPECT_FALSE(process->is_stopped());
  EXPECT_FALSE(process->try_wait());
}

TEST(Process, AProgramThatIsNotThereIsAnErrorWithTheReason) {
  const auto process = Process::spawn({.program = "/no/such/program"});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().message, "cannot start /no/such/program: No such file or directory");
}

TEST(Process, ItsEnvironmentIsOursWithTheChanges) {
  ASSERT_EQ(setenv("CARAVAN_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("CARAVAN_CHANGED", "old", 1), 0);
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options = shell("echo $CARAVAN_KEPT $CARAVAN_CHANGED $CARAVAN_NEW");
  options.environment = {{"CARAVAN_CHANGED", "changed"}, {"CARAVAN_NEW", "new"}};
  options.stdout_fd = pipe->write_end.get();
  auto process = Process::spawn(options);
  ASSERT_TRUE(process);
  pipe->write_end.reset();
  EXPECT_EQ(read_all(pipe->read_end.get()), "kept changed new\n");
}

TEST(Process, OnlyTheNamedDescriptorsAreInherited) {
  auto report = make_pipe();
  auto other = make_pipe();
  ASSERT_TRUE(report && other);
  const int fd = report->write_end.get();
  SpawnOptions options = shell(fmt::format("ls /proc/self/fd >&{}", fd));
  options.inherited_fds = {fd};
  auto process = Process::spawn(options);
  ASSERT_TRUE(process);
  report->write_end.reset();
  const std::string open = read_all(report->read_end.get());
  EXPECT_THAT(open, HasSubstr(fmt::format("{}\n", fd)));
  EXPECT_THAT(open, ::testing::Not(HasSubstr(fmt::format("\n{}\n", other->write_end.get()))));
}

TEST(Process, OnlyTheNamedDescriptorsAreInheritedOnAnOlderKernelToo) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    forget_close_range();
    const int named = open("/dev/null", O_RDONLY);
    const int other = open("/dev/null", O_RDONLY);
    SpawnOptions options =
        shell(fmt::format("[ -e /proc/$$/fd/{} ] && [ ! -e /proc/$$/fd/{} ] && echo so", named, other));
    options.inherited_fds = {named};
    _exit(output_of(options) == "so\n" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Process, WhatGoesOutOfScopeIsKilledWithItsChildren) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options = shell("sleep 1000 & sleep 1000 & wait");
  options.stdout_fd = pipe->write_end.get();
  { ASSERT_TRUE(Process::spawn(options)); }
  pipe->write_end.reset();
  EXPECT_EQ(read_all(pipe->read_end.get()), "") << "ends when nobody holds the pipe any more";
}

TEST(Process, WhatItLeavesBehindEndsWhenItIsReaped) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options = shell("sleep 1000 & exit 3");
  options.stdout_fd = pipe->write_end.get();
  auto process = Process::spawn(options);
  ASSERT_TRUE(process);
  pipe->write_end.reset();
  EXPECT_EQ(process->wait(), (ExitStatus{.exit_code = 3, .signal = 0}));
  EXPECT_EQ(read_all(pipe->read_end.get()), "") << "ends when the left-over has let the pipe go";
}

TEST(Process, InASessionOfItsOwnItHasNeitherATerminalNorAnythingToRead) {
  SpawnOptions opens = shell(": </dev/tty");
  EXPECT_TRUE(succeeds_on_terminal(opens));
  opens.own_session = true;
  EXPECT_FALSE(succeeds_on_terminal(opens));
  SpawnOptions reads = shell("[ -z \"$(cat)\" ]");
  reads.own_session = true;
  EXPECT_TRUE(succeeds_on_terminal(reads));
}

TEST(Process, WhatItLeavesInASessionOfItsOwnGoesOn) {
  const test::TemporaryFolder folder;
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options =
      shell(fmt::format("(while [ ! -e {} ]; do sleep 0.01; done; echo done) & exit 3", folder.path("go")));
  options.own_session = true;
  options.stdout_fd = pipe->write_end.get();
  auto process = Process::spawn(options);
  ASSERT_TRUE(process);
  pipe->write_end.reset();
  EXPECT_EQ(process->wait(), (ExitStatus{.exit_code = 3, .signal = 0}));
  folder.write("go", "");
  EXPECT_EQ(read_all(pipe->read_end.get()), "done\n");
}

TEST(Process, AChildEndsWithItsParent) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  SpawnOptions options = shell("exec sleep 1000");
  options.stdout_fd = pipe->write_end.get();
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    auto child = Process::spawn(options);
    raise(SIGKILL);
  }
  pipe->write_end.reset();
  EXPECT_EQ(read_all(pipe->read_end.get()), "") << "ends when the grandchild has let the pipe go";
  int status = 0;
  EXPECT_EQ(waitpid(parent, &status, 0), parent);
}

TEST(Signals, ArriveThroughTheDescriptor) {
  auto fd = signals_as_descriptor({SIGUSR1});
  ASSERT_TRUE(fd);
  EXPECT_EQ(read_signal(fd->get()), std::nullopt);
  raise(SIGUSR1);
  EXPECT_EQ(read_signal(fd->get()), SIGUSR1);
}

}  // namespace
}  // namespace caravan
