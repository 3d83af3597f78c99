// Where the ranks of one machine meet, and the room that each has to show the others something.
//
// A collective is a sequence of rounds. In a round a rank writes what the others shall see to its slot, meets
// them, and then reads theirs. Every rank has two slots, used in turn: whoever comes to a meeting has read
// what was shown at the one before, so the slot of the one before that is free. That is all that needs
// agreement: one number per rank, the meetings that it has come to.
//
// Whoever waits sleeps in the kernel (futex), as ranks may be more than cores. The end of a process that has
// not come is seen within a tenth of a second, through its pidfd.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "worker/trainer/comm/shared_memory/shared_mapping.h"

namespace caravan::trainer {

inline constexpr int64_t kSlotBytes = int64_t{256} << 10;

class Meeting {
 public:
  struct Member {
    std::string group;  // its name
    int rank = 0;
    std::vector<UniqueFd> processes;  // pidfds by rank; none where there is no process to watch
    std::chrono::milliseconds timeout{0};
  };
  static std::size_t bytes(int ranks);

  // The mapping has bytes(ranks).
  Meeting(SharedMapping mapping, Member member);

  int rank() const { return member_.rank; }
  int size() const { return static_cast<int>(member_.processes.size()); }

  // This rank's of the next meeting.
  std::byte* own_slot() const { return slot(member_.rank, met_ + 1); }
  // Shows the slot and waits for all others. Throws CommunicationError, which names operation and rank, when
  // one of them has ended or did not come in time.
  void meet(const char* operation);
  // What a rank shows since the last meeting, until this one comes to the next.
  const std::byte* shown_by(int rank) const { return slot(rank, met_); }

 private:
  std::byte* slot(int rank, std::uint32_t meeting) const;
  std::uint32_t& met_by(int rank) const;
  bool has_come(int rank) const;
  void await(int rank, const char* operation) const;
  void throw_if_lost(const char* operation) const;
  [[noreturn]] void give_up(const char* operation, int rank, const std::string& why) const;

  SharedMapping mapping_;
  Member member_;
  std::uint32_t met_ = 0;  // wraps around
};

}  // namespace caravan::trainer
