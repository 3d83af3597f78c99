// What this rank has given to the device's lanes, by lane and in order: what a watchdog goes by, since the
// host does not wait for it and a device says nothing while it waits.
//
// The thread that trains notes; another one looks. Of what is finished only the number is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
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
  struct UnderWay {
    Lane lane;
    std::uint64_t number = 0;  // in the lane, from 1
    std::string words;
    Clock::time_point since;
    StartedOperation operation;
  };

  // From then on the lane has a position, though nothing was given to it.
  void enter(const Lane& lane);
  // The lane was entered.
  void add(const Lane& lane, std::string words, StartedOperation operation, Clock::time_point now);

  // Of each lane the first that is not finished. It has been the first since then at the latest: an operation
  // behind one that took long gets its own time.
  std::vector<UnderWay> first_under_way(Clock::time_point now);
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
    Clock::time_point first_since;
  };

  static void forget_what_is_over(Line& line, Clock::time_point now);

  mutable std::mutex mutex_;
  std::map<std::string, Line> lines_;
};

}  // namespace caravan::trainer
