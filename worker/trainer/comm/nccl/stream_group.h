// A group of ranks as NCCL has it: operations go in order on streams of the device, beside the one that
// computes, and meet those of the other ranks by nothing but their order.
//
// Starting one returns at once; the host never waits here. An operation begins when what the calling thread's
// stream was given before is done. Collectives of a group are one lane, and each way of a pair of neighbours
// is one: within a lane operations run one after the other. Tensors are contiguous and on the device.
//
// Throws CommunicationError.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/comm/nccl/ways.h"

namespace caravan::trainer {

class StreamOperation : public PendingTransfer {
 public:
  // wait(): what the calling thread's stream is given from now on begins after it.

  // On the device, with or without success. Any thread may ask.
  virtual bool finished() = 0;
  // Why it failed, if the transport knows. Any thread may ask.
  virtual std::optional<std::string> error() = 0;
};
using StartedOperation = std::shared_ptr<StreamOperation>;

class StreamGroup {
 public:
  virtual ~StreamGroup() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // As in Communicator, but sums are made in the tensor's own type.
  virtual StartedOperation all_reduce(at::Tensor& tensor, Reduction reduction) = 0;
  virtual StartedOperation all_gather(at::Tensor& output, const at::Tensor& input) = 0;
  virtual StartedOperation reduce_scatter(at::Tensor& output, const at::Tensor& input) = 0;
  virtual StartedOperation broadcast(at::Tensor& tensor, int root) = 0;
  // One tensor for each rank and from each rank, of any sizes; none may be empty on one side only.
  virtual StartedOperation exchange(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs) = 0;

  // Of neighbours (ways.h), in the order of the way.
  virtual StartedOperation send(const at::Tensor& tensor, int peer, Way way) = 0;
  virtual StartedOperation receive(at::Tensor& tensor, int peer, Way way) = 0;

  // Ends what is under way, on this rank, with an error. From any thread; the group is of no use afterwards.
  virtual void abort() = 0;
};

}  // namespace caravan::trainer
