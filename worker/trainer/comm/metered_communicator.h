// Counts what goes over a group: bytes and seconds by operation, and charges the time, waiting for peers
// included, to the phase "communication". What goes on while the rank computes takes the time that it waits
// for it.
//
// Bytes are those of the tensor on this rank: the whole tensor of an all-reduce, the output of an all-gather,
// the input of a reduce-scatter.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/loop/phase_clock.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::trainer {

struct TransferCount {
  int64_t bytes = 0;
  double seconds = 0;
};

// By operation and axis, since the last take().
class TransferMeter {
 public:
  using Counts = std::map<std::pair<std::string, std::string>, TransferCount>;

  void add(const std::string& operation, const std::string& axis, int64_t bytes, double seconds);
  Counts take() { return std::exchange(counts_, {}); }

 private:
  Counts counts_;
};

struct Instruments {
  TransferMeter& meter;
  PhaseClock& clock;
  MemoryCounter& memory;
};

// The instruments outlive the communicator and its transfers.
std::unique_ptr<Communicator> metered(std::unique_ptr<Communicator> group, std::string axis,
                                      const Instruments& instruments);

}  // namespace caravan::trainer
