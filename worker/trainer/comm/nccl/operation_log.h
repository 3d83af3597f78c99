// What this rank has given to the device's lanes, by lane and in order, and how far the device was when it
// was last asked: what a watchdog goes by, since the host does not wait for it and a device says nothing
// while it waits.
//
// The thread that trains notes, another one asks, a third one looks at what is known. CUDA may hold up
// whoever asks, and whoever lets go of an operation, for as long as a call of another thread waits for the
// device; so neither is done under the lock. Of what is finished only the number is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/comm/nccl/stream_group.h"

namespace caravan::trainer {

// Where operations keep an order.
struct Lane {
  std::string name;          // in the job, the same on all members
  std::vector<int> members;  // ranks of the group
  int rank = 0;              // this one's, in the group
};

// How far a rank has come in a lane.
struct LanePosition {
  std::uint64_t issued = 0;  // operations so far, which is also the number of the last one
  std::string last;          // that one, in words

  bool operator==(const LanePosition&) const = default;
};

class OperationLog {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  struct UnderWay {
    Lane lane;
    std::uint64_t number = 0;  // in the lane, from 1
    std::string words;
    Clock::time_point since;
    std::optional<std::string> failure;
  };

  // From then on the lane has a position, though nothing was given to it.
  void enter(const Lane& lane);
  // The lane was entered.
  void add(const Lane& lane, std::string words, StartedOperation operation, Clock::time_point now);

  // Asks the device about all of it. One thread at a time. now: at the beginning, and behind each answer.
  void ask(const Now& now);
  // When the last question began that was answered.
  Clock::time_point answered() const;
  // When the one began that was not, if there is one.
  std::optional<Clock::time_point> unanswered() const;

  // Of each lane the first that was not finished when the device answered. It has been the first since then
  // at the latest: an operation behind one that took long gets its own time.
  std::vector<UnderWay> first_under_way() const;
  // Of the same lanes the last that was given.
  std::vector<UnderWay> last_under_way() const;
  bool is_under_way(const UnderWay& operation) const;
  std::vector<std::pair<Lane, LanePosition>> positions() const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::string words;
    StartedOperation operation;
  };
  struct Line {
    Lane lane;
    LanePosition position;
    std::deque<Entry> entries;
    // Of the first one.
    Clock::time_point first_since;
    std::optional<std::string> failure;
  };

  std::vector<std::string> lanes() const;
  StartedOperation first_of(const std::string& lane) const;
  void ask_about(const std::string& lane, const Now& now);
  static UnderWay under_way(const Line& line, const Entry& entry);

  mutable std::mutex mutex_;
  std::map<std::string, Line> lines_;
  Clock::time_point answered_;
  std::optional<Clock::time_point> unanswered_;
};

}  // namespace caravan::trainer
