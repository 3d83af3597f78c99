// Collectives over one group of ranks, as the trainer sees them, over Gloo, shared memory of one machine,
// NCCL on devices, or an in-process fake for tests (ranks are threads). No file outside worker/trainer/comm
// sees c10d.
//
// A collective that is started goes on while the caller computes, where the group has a lane for it
// (overlaps()); elsewhere it is done when start() returns. Started ones and others keep one order.
//
// Tensors are contiguous. Every rank of the group calls the same operations in the same order. Sums of bf16
// tensors are made in fp32 and rounded once; every rank receives the same bits. A lost peer shows as an
// exception of type CommunicationError in some ranks and as a hang in others: the agent ends the process
// either way, a rank never tries to recover.
//
// What an operation allocates while it runs, so that peaks can be predicted exactly. With c = min(⌈n/size⌉,
// 65536) for n elements of the larger tensor:
//   reduce_scatter, all_reduce (sum)  4·c bytes for fp32, 10·c for bf16; nothing where ranks share memory
//   others                            nothing
// A group of one allocates nothing. A group over a network has buffers of the system, and one that shares
// memory has room of a fixed size (shared_memory_communicator.h); neither is counted. On devices:
// stream_communicator.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace caravan::trainer {

class CommunicationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// When an operation was at work.
struct WorkingTime {
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
};

// An operation under way; the tensor it was given must live until wait() returns.
class PendingTransfer {
 public:
  virtual ~PendingTransfer() = default;
  virtual void wait() = 0;
  // Behind wait(). Absent where nobody looks at the clock, and where it was done when it was started.
  virtual std::optional<WorkingTime> worked() const { return std::nullopt; }
};

enum class Reduction { Sum, Max };

// A call of the function with that name; an all-reduce adds up its output.
struct Collective {
  enum class Kind { AllReduce, AllGather, ReduceScatter };

  Kind kind = Kind::AllReduce;
  at::Tensor output;
  at::Tensor input = {};
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void all_reduce(at::Tensor& tensor, Reduction reduction) = 0;
  // output: `size` times input along dimension 0, in rank order. input may be output's own part.
  virtual void all_gather(at::Tensor& output, const at::Tensor& input) = 0;
  // input: `size` times output along dimension 0; rank r receives the sum of all r-th parts. output may be
  // input's own part; the other parts stay as they were.
  virtual void reduce_scatter(at::Tensor& output, const at::Tensor& input) = 0;
  virtual void broadcast(at::Tensor& tensor, int root) = 0;
  virtual void barrier() = 0;

  // Behind a barrier that is the last call of all ranks of the job: whoever ends from then on is missed by
  // nobody.
  virtual void finalize() {}

  // The same on all ranks of the group.
  virtual bool overlaps() const { return false; }
  // The tensors are the operation's until its wait() returns, which is where an error shows.
  virtual std::unique_ptr<PendingTransfer> start(const Collective& collective);

  // Peers are ranks of the group. A tag is unique among the transfers under way between two ranks, and below
  // 2^30. A send may end only after its receive was posted.
  virtual std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) = 0;
  virtual std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) = 0;
};

// From begin to end.
void call(Communicator& group, const Collective& collective);

// Waits, if there is an operation. An error tells what did not come about: "the gradients of layers.3".
void await(std::unique_ptr<PendingTransfer> operation, const std::string& what);

}  // namespace caravan::trainer
