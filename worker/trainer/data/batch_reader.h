// Token batches of one rank, in the order that every layout shares.
//
// A step sees G samples of the run (G global batch) that follow those of the step before; data parallel rank
// d takes the d-th contiguous share of them, its micro-batches in order. Sample i is tokens [i·S, i·S + S],
// the last S shifted by one being the targets. Only the stages with the embedding and with the head read.
// Errors are bad input: a data set too small for one sample, a token outside the vocabulary; they name file
// and position.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "data/sample_order.h"
#include "data/token_dataset.h"
#include "worker/trainer/model/stage.h"

namespace caravan::trainer {

struct BatchOptions {
  int64_t sequence_length = 0;
  int64_t global_batch_sequences = 0;
  int64_t micro_batch_size = 1;
  int64_t vocabulary = 0;
  uint64_t seed = 1;
  int data_rank = 0;
  int data_size = 1;
  bool reads_inputs = true;   // where the embedding is
  bool reads_targets = true;  // where the head is
  bool pins_memory = false;   // so that a GPU can read it while the host goes on
};

// All sequences that one rank sees in a step: 8 bytes a token, for inputs and targets each where they are
// read.
struct StepTokens {
  at::Tensor inputs_NS{};
  at::Tensor targets_NS{};
  int64_t micro_batch_size = 1;
  double loss_scale = 1;

  TokenBatch micro_batch(int index) const;
};

class BatchReader {
 public:
  static Result<BatchReader> open(const std::string& path, const BatchOptions& options);

  // Absent where this rank reads nothing.
  const data::TokenDataset* tokens() const { return samples_ ? &samples_->tokens : nullptr; }
  // In an epoch; 0 where this rank reads nothing.
  int64_t samples() const { return samples_ ? samples_of(samples_->tokens, options_) : 0; }

  // first_sample: position in the run of the first one that any rank reads.
  Result<StepTokens> read(int64_t first_sample) const;

 private:
  struct Samples {
    data::TokenDataset tokens;
    data::SampleOrder order;
  };

  BatchReader(std::optional<Samples> samples, const BatchOptions& options);
  static int64_t samples_of(const data::TokenDataset& tokens, const BatchOptions& options);
  Status fill(at::Tensor& rows_NS, int64_t first_position, int64_t shift) const;

  std::optional<Samples> samples_;  // absent on stages that read nothing
  BatchOptions options_;
};

}  // namespace caravan::trainer
