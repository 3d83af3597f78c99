// Adds up what the ranks know of the gradients, once per step, in place and bucket by bucket.
//
// Afterwards the whole gradient of the global batch stands in the rank's slice of every bucket (ZeRO-1) or
// everywhere (ZeRO-0).
//
// Where the data group has a lane of its own, the sum over it of a bucket begins as soon as the last
// micro-batch has added to it, and goes on while the backward of earlier layers does. Ranks of the group run
// the same ops in the same order, so they begin the same sums in the same order. Elsewhere all of it is done
// in finish(), since a stage that waited for its likes in the middle of a step would hold up its neighbours.
// Either way the same terms are added in the same order.
//
// Last, and of as much as a rank answers for, come the sums over ranks that hold the same parameter
// (replicated and tied ones): whatever the order in which each data group adds, the copies never drift apart.
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

struct GradientSyncOptions {
  bool sequence_parallel = false;
  int zero_stage = 1;
};

class GradientSums {
 public:
  // contributions: to each bucket in a step. store and mesh outlive the sums.
  GradientSums(ParameterStore& store, Mesh& mesh, const GradientSyncOptions& options, int64_t contributions);

  // One of the contributions to the bucket is made.
  void added(int bucket);
  // All are; afterwards the step's sums are there, and the next step's contributions are awaited. Throws
  // CommunicationError, which names the bucket.
  void finish();

 private:
  struct Sum {
    int64_t awaited = 0;                         // contributions
    std::unique_ptr<PendingTransfer> under_way;  // from its begin until it was waited for
  };

  void begin(int bucket);
  at::Tensor answered_for(const Parameter& parameter) const;
  void add_up_replicated();
  void add_up_tied();

  ParameterStore& store_;
  Mesh& mesh_;
  const GradientSyncOptions options_;
  const int64_t contributions_;
  std::vector<Sum> sums_;  // by bucket
};

// Begins what brings every rank's slice of a bucket of the flat tensor to all ranks of the data group.
std::unique_ptr<PendingTransfer> start_gathering(const Bucket& bucket, const at::Tensor& flat,
                                                 Communicator& data);

}  // namespace caravan::trainer
