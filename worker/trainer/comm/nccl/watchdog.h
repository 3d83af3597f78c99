// Sees that a lane of the device has stopped, finds out who holds it up, and ends the wait on all ranks
// within seconds.
//
// A device that waits for another says nothing, and NCCL alone gives up after ten minutes without a word
// about who was missing. Here an operation that is under way for longer than the time-out is an alarm on the
// board; whoever sees it says how far it has come in each of its lanes; who raised it names those who are
// behind, in whichever of its own lanes, and that verdict is for all ranks. An operation that failed is a
// verdict at once. Each rank that hears one aborts its groups, so that the device goes on and the next call,
// or wait, of the thread that trains throws. At the job's end ranks go one by one, and the board with the
// first: whoever has stopped by then misses none of them.
//
// CUDA holds up whoever asks a device while a call of another thread waits for it, as one that loads a kernel
// does behind an operation that waits for another rank. So one thread asks, and one that calls nothing of
// CUDA but to abort judges by what the device has answered so far; a device that answers nothing for longer
// than the time-out is an alarm, too. Both do so once a second; tests call them themselves.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "worker/trainer/comm/nccl/missing_ranks.h"
#include "worker/trainer/comm/nccl/notice_board.h"
#include "worker/trainer/comm/nccl/operation_log.h"

namespace caravan::trainer {

struct WatchdogOptions {
  int rank = 0;                                  // in the job
  std::chrono::milliseconds timeout{600'000};    // of an operation that is the first in its lane
  std::chrono::milliseconds answer_time{5'000};  // that others have to say how far they are
};

class Watchdog {
 public:
  using Clock = OperationLog::Clock;
  using Heard = std::function<void(const std::string& verdict)>;

  // The board outlives it. heard: called once, by whoever judges, and returns at once; the others are told
  // and the groups aborted behind it, either of which may hang.
  Watchdog(const WatchdogOptions& options, NoticeBoard& board, Heard heard);
  ~Watchdog();

  // From here on a thread asks once in so long, and another one judges.
  void start(std::chrono::milliseconds every);
  // Asks the device, which may hang.
  void ask(const OperationLog::Now& now);
  // A device that answers in no time.
  void ask(Clock::time_point now);
  void judge(Clock::time_point now);
  // From here on there is no verdict any more, not even of a judgement that is under way, which may hang. It
  // is not waited for here.
  void stop();

  // Lanes that this rank has a place in, before anything is given to them.
  void enter(const Lane& lane);
  // A group to abort, as long as it lives.
  void guard(const std::shared_ptr<StreamGroup>& group);
  // Throws CommunicationError when there is a verdict.
  void throw_if_lost() const;
  // What was given to a lane.
  void note(const Lane& lane, std::string words, const StartedOperation& operation);

 private:
  struct Alarm {
    // The first of each lane, by time: that one first which is overdue. Where a device is silent, the last.
    std::vector<OperationLog::UnderWay> operations;
    Clock::time_point raised;
    std::optional<Clock::time_point> silent_since = {};
  };

  bool watches() const;
  void hear_the_others(Clock::time_point now);
  void find_failure(const std::vector<OperationLog::UnderWay>& first);
  void find_overdue(std::vector<OperationLog::UnderWay> first, Clock::time_point answered,
                    Clock::time_point now);
  void find_silence(Clock::time_point now);
  void tell_positions();
  std::map<int, ToldPosition> told_of(const Lane& lane);
  std::string verdict_on(const Alarm& alarm);
  std::string verdict_on_silence(const Alarm& alarm);
  void conclude(const std::string& verdict, bool tell_others);
  void tell_verdict(const std::string& verdict);

  const WatchdogOptions options_;
  NoticeBoard& board_;
  const Heard heard_;
  OperationLog log_;
  std::optional<Alarm> alarm_;  // that this rank has raised
  bool told_ = false;           // how far it is
  mutable std::mutex mutex_;
  std::optional<std::string> verdict_;
  bool has_stopped_ = false;
  std::vector<std::weak_ptr<StreamGroup>> groups_;
  std::jthread asks_;
  std::jthread judges_;
};

}  // namespace caravan::trainer
