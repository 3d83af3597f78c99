// Child processes that cannot be lost: each has a process group of its own, a descriptor that becomes
// readable when it ends, and by default ends (SIGKILL) when the process that started it does.
//
// Start children from a thread that lives as long as the program: the kernel ties the end of a child to the
// end of the thread that started it. Errors: a program that cannot be executed is an error of spawn, with the
// system's reason.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan {

struct ExitStatus {
  int exit_code = -1;  // -1 when a signal ended the process
  int signal = 0;

  bool operator==(const ExitStatus&) const = default;
};

// "exit code 3", "signal 11 (SIGSEGV)".
std::string to_string(const ExitStatus& status);

struct SpawnOptions {
  std::string program;  // path; PATH is not searched
  std::vector<std::string> arguments = {};
  // Set, or replaced, in the environment of this process.
  std::vector<std::pair<std::string, std::string>> environment = {};
  int stdout_fd = -1;  // -1: that of this process
  int stderr_fd = -1;
  std::vector<int> inherited_fds = {};  // keep their numbers; all others above 2 are closed
  bool end_with_parent = true;
  // It has nothing to read and no terminal, and what it leaves behind when it ends goes on.
  bool own_session = false;
  // By number, those it runs on, as far as it may; empty: those of this process.
  std::vector<int> processors = {};
  // When it crashes its memory is kept, as the system has it; until that is written, a minute for tens of
  // gigabytes, it has not ended.
  bool dumps_core = true;
};

class Process {
 public:
  static Result<Process> spawn(const SpawnOptions& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  // Kills and reaps what still runs.
  ~Process();

  pid_t pid() const { return pid_; }
  // Readable once the process has ended.
  int pidfd() const { return pidfd_.get(); }

  // Stopped by a signal such as SIGSTOP.
  bool is_stopped() const;
  // It runs no more, or ends when all that it holds is given back, which may take seconds.
  bool is_ending() const;
  // To the process and everything in its group.
  void signal_group(int signal) const;
  // Absent while the process runs. The first call that sees the end reaps it and kills what is left of its
  // group, unless that is a session of its own.
  std::optional<ExitStatus> try_wait();
  ExitStatus wait();

 private:
  Process(pid_t pid, UniqueFd pidfd, bool own_session)
      : pid_(pid), pidfd_(std::move(pidfd)), own_session_(own_session) {}
  void end();

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  bool own_session_ = false;
  std::optional<ExitStatus> status_;
};

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> make_pipe();
Status set_nonblocking(int fd);

// This process ends (SIGKILL) when its parent does, and at once when `parent` is its parent no more.
void end_with_parent(pid_t parent);

// As many open files as the system lets this process have, and what it starts: what a login or a container is
// given at first, often 1024, is there for programs that use select(2).
void allow_all_open_files();

// Blocks these signals in this and all later threads; the descriptor becomes readable when one arrives.
Result<UniqueFd> signals_as_descriptor(const std::vector<int>& signals);
// The next signal of such a descriptor, if one arrived.
std::optional<int> read_signal(int signal_fd);

}  // namespace caravan
