#include "worker/agent/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "common/process.h"
#include "policy/failure_policy.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

constexpr std::size_t kMaxMessageBytes = 1000;

// At most `size` bytes that do not end within a UTF-8 sequence.
std::string cut(std::string text, std::size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  text.resize(size);
  return text;
}

std::string reason_of(const v1alpha1::RankExit& exit) {
  const std::string& own = exit.failure().reason();
  if (exit.out_of_memory() || own == reasons::kOutOfMemory) return reasons::kOutOfMemory;
  for (const char* known : {reasons::kNonFiniteLoss, reasons::kStalled, reasons::kSilentCorruption}) {
    if (own == known) return own;
  }
  return reasons::kRankFailed;
}

bool ended_with(const v1alpha1::RankExit& exit, int code) {
  return exit.signal() == 0 && exit.exit_code() == code;
}

// The system's loader says so by this code and in the log. It has other reasons too, such as a volume that
// fails, which may be gone the next time.
bool lacks_a_library(const v1alpha1::RankExit& exit) {
  constexpr std::string_view kMissing = "cannot open shared object file: No such file or directory";
  const auto says_so = [&](const std::string& line) { return line.find(kMissing) != std::string::npos; };
  return !exit.has_failure() && ended_with(exit, 127) && std::ranges::any_of(exit.last_log_lines(), says_so);
}

// The same image would fail anywhere, and again.
bool is_bad_input(const v1alpha1::RankExit& exit) {
  return exit.failure().reason() == reasons::kRankInvalidInput || lacks_a_library(exit) ||
         ended_with(exit, static_cast<int>(ExitCode::kBadInput));
}

std::string advice_for(const v1alpha1::RankExit& exit, const std::string& reason) {
  if (reason == reasons::kOutOfMemory) {
    return "to need less memory, set parallelism.activationCheckpointing: Always, use more tensor or "
           "pipeline parallelism, or give the ranks more memory";
  }
  if (reason == reasons::kNonFiniteLoss) {
    return "lower training.optimizer.learningRate, lengthen warmupSteps, or look for bad data around this "
           "step";
  }
  if (reason == reasons::kSilentCorruption)
    return "test the memory and the devices of the nodes with these ranks before they train on";
  if (reason == reasons::kStalled) return "see who stops processes on this machine";
  if (lacks_a_library(exit)) return "its log names the library that the image or installation lacks";
  if (is_bad_input(exit)) return "correct what it names; the same input would fail again";
  if (exit.failure().reason() == reasons::kRankDataUnavailable)
    return "see whether that machine reaches the volume that it names, and has room and rights there";
  if (exit.failure().reason() == reasons::kRankCommunication) return "check the network between the nodes";
  if (exit.signal() == SIGKILL)
    return "somebody outside of the job sent it: look into the machine's kernel log";
  if (policy::is_sent(exit.signal())) return "somebody outside of the job sent it";
  if (exit.signal() != 0) return "the trainer crashed: keep its log for a bug report";
  return "look into its log";
}

std::string cause_of(const v1alpha1::RankExit& exit, const std::string& reason) {
  const std::string status = to_string(ExitStatus{.exit_code = exit.exit_code(), .signal = exit.signal()});
  if (exit.has_failure())
    return fmt::format("of {}: {} ({})", exit.failure().reason(), exit.failure().message(), status);
  if (reason == reasons::kOutOfMemory) return fmt::format("out of memory: the kernel killed it ({})", status);
  if (ended_with(exit, 0)) return "before the last step, with exit code 0";
  return "of " + status;
}

// A crash, an error that the trainer does not know, or memory that changes what it holds; what somebody sent,
// what lies in the job and its volumes, and what another rank did would have happened elsewhere too.
bool blames_machine(const v1alpha1::RankExit& exit) {
  if (exit.out_of_memory()) return false;
  const std::string& reason = exit.failure().reason();
  if (exit.has_failure()) return reason == reasons::kRankInternal || reason == reasons::kSilentCorruption;
  return exit.signal() != 0 && !policy::is_sent(exit.signal());
}

std::optional<v1alpha1::MemoryShortage> shortage_of(const v1alpha1::RankExit& exit) {
  if (!exit.failure().has_shortage()) return std::nullopt;
  return exit.failure().shortage();
}

}  // namespace

std::string leave_room(std::string what) {
  return cut(std::move(what), kMaxMessageBytes / 2);
}

std::chrono::steady_clock::time_point time_of_death(
    const v1alpha1::RankExit& exit, std::optional<std::chrono::steady_clock::time_point> before,
    std::chrono::steady_clock::time_point now) {
  using std::chrono::microseconds;
  const auto died_at = now - microseconds(std::max<std::int64_t>(exit.dead_microseconds(), 0));
  return before ? std::max(died_at, *before + microseconds(1)) : died_at;
}

Failure describe_death(const Death& death) {
  const v1alpha1::RankExit& exit = death.exit;
  const std::string reason = reason_of(exit);
  return {.reason = reason,
          .rank = exit.rank(),
          .exit_code = exit.signal() == 0 ? exit.exit_code() : policy::kSignalExitCode + exit.signal(),
          .bad_input = is_bad_input(exit),
          .what = leave_room(fmt::format("rank {} on node {} died first, after step {}, {}", exit.rank(),
                                         death.node, death.last_step, cause_of(exit, reason))),
          .advice = advice_for(exit, reason),
          .log = {exit.last_log_lines().begin(), exit.last_log_lines().end()},
          .suspect_node = blames_machine(exit) ? std::optional(death.node) : std::nullopt,
          .shortage = shortage_of(exit)};
}

Failure describe_lost_node(int node, const std::string& how) {
  return {.reason = reasons::kPodLost,
          .what = fmt::format("the agent of node {} was lost: {}", node, how),
          .advice = "if it happens again, see whether that machine was drained or ran out of memory",
          .suspect_node = node};
}

Failure describe_leaving(int node) {
  return {.reason = reasons::kPreempted,
          .what = fmt::format("the agent of node {} was told to end", node),
          .advice = "its pod was deleted or evicted, or its machine is drained"};
}

Failure describe_refusal(int node, const std::string& why) {
  return {.reason = reasons::kRankFailed,
          .what = leave_room(fmt::format("node {} cannot start its ranks: {}", node, why)),
          .advice = "look into the log of its agent"};
}

Failure describe_deadline(std::chrono::seconds deadline) {
  return {.reason = reasons::kDeadlineExceeded,
          .what = fmt::format("the job ran for {} s (activeDeadlineSeconds)", deadline.count()),
          .advice = "raise activeDeadlineSeconds or train fewer steps"};
}

std::string failure_message(const Failure& failure, const std::string& next) {
  const std::string told =
      cut(fmt::format("{}; {}; {}", failure.what, next, failure.advice), kMaxMessageBytes);
  constexpr std::string_view kHeading = ". Last lines of its log:";
  std::string lines;
  for (auto line = failure.log.rbegin(); line != failure.log.rend(); ++line) {
    if (told.size() + kHeading.size() + lines.size() + line->size() + 3 > kMaxMessageBytes) break;
    lines = fmt::format("\n  {}{}", *line, lines);
  }
  return lines.empty() ? told : fmt::format("{}{}{}", told, kHeading, lines);
}

}  // namespace caravan::agent
