#include "worker/trainer/data/batch_reader.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <span>
#include <utility>

namespace caravan::trainer {

TokenBatch StepTokens::micro_batch(int index) const {
  const auto rows = [&](const at::Tensor& all_NS) {
    return all_NS.defined() ? all_NS.narrow(0, index * micro_batch_size, micro_batch_size) : at::Tensor();
  };
  return {.inputs_BS = rows(inputs_NS), .targets_BS = rows(targets_NS), .loss_scale = loss_scale};
}

BatchReader::BatchReader(std::optional<Samples> samples, const BatchOptions& options)
    : samples_(std::move(samples)), options_(options) {}

Result<BatchReader> BatchReader::open(const std::string& path, const BatchOptions& options) {
  if (!options.reads_inputs && !options.reads_targets) return BatchReader(std::nullopt, options);
  Result<data::TokenDataset> tokens = data::TokenDataset::open(path);
  if (!tokens) return tl::unexpected(tokens.error());
  const int64_t samples = samples_of(*tokens, options);
  if (samples < 1) {
    return bad_input(fmt::format("{}: {} tokens are too few for one sample of sequenceLength + 1 = {} tokens",
                                 path, tokens->tokens(), options.sequence_length + 1));
  }
  return BatchReader(Samples{*std::move(tokens), data::SampleOrder(samples, options.seed)}, options);
}

int64_t BatchReader::samples_of(const data::TokenDataset& tokens, const BatchOptions& options) {
  return (tokens.tokens() - 1) / options.sequence_length;
}

Result<StepTokens> BatchReader::read(int64_t first_sample) const {
  const int64_t share = options_.global_batch_sequences / options_.data_size;
  const int64_t first_position = first_sample + options_.data_rank * share;
  const auto all_tokens = static_cast<double>(options_.global_batch_sequences * options_.sequence_length);

  const at::TensorOptions ids = at::dtype(at::kLong).pinned_memory(options_.pins_memory);
  StepTokens tokens{.micro_batch_size = options_.micro_batch_size, .loss_scale = 1 / all_tokens};
  if (options_.reads_inputs) {
    tokens.inputs_NS = at::empty({share, options_.sequence_length}, ids);
    if (Status filled = fill(tokens.inputs_NS, first_position, 0); !filled)
      return tl::unexpected(filled.error());
  }
  if (options_.reads_targets) {
    tokens.targets_NS = at::empty({share, options_.sequence_length}, ids);
    if (Status filled = fill(tokens.targets_NS, first_position, 1); !filled)
      return tl::unexpected(filled.error());
  }
  return tokens;
}

Status BatchReader::fill(at::Tensor& rows_NS, int64_t first_position, int64_t shift) const {
  const int64_t length = options_.sequence_length;
  auto* row = rows_NS.data_ptr<int64_t>();
  for (int64_t n = 0; n < rows_NS.size(0); ++n, row += length) {
    const int64_t begin = samples_->order.sample_at(first_position + n) * length + shift;
    const std::span<int64_t> output(row, static_cast<std::size_t>(length));
    if (Status read = samples_->tokens.read(begin, output, options_.vocabulary); !read) return read;
  }
  return {};
}

}  // namespace caravan::trainer
