// What the blocks of the table of work have in common: linear layers, norms, and the boundaries of the region
// that tensor parallelism cuts (worker/trainer/model/tensor_region.h).
#pragma once

#include <utility>

#include "planner/work/block_sizes.h"
#include "planner/work/operation.h"

namespace caravan::planner {

class RowBuilder {
 public:
  explicit RowBuilder(const StageShape& stage) : size(stage) { rows_.reserve(kMostRows); }

  Operations take() { return std::move(rows_); }

 protected:
  void add(const Operation& row) { rows_.push_back(row); }

  Product forward(int64_t outputs, int64_t inputs) const {
    return {.tokens = size.tokens,
            .outputs = outputs,
            .inputs = inputs,
            .weight_bytes = outputs * inputs * size.element};
  }
  // As many operations and as many bytes.
  Product by_input(int64_t outputs, int64_t inputs) const { return forward(outputs, inputs); }
  // The sum is read and written.
  Product weight_product(int64_t outputs, int64_t inputs) const {
    Product product = forward(outputs, inputs);
    product.weight_bytes = outputs * inputs * 2 * size.wide;
    return product;
  }

  void by_weight(std::string_view name, int64_t outputs, int64_t inputs, int64_t read,
                 const MemoryUse& frees) {
    add({.name = name,
         .phase = Phase::WeightGradient,
         .product = weight_product(outputs, inputs),
         .moved = read,
         .frees = frees});
  }

  // Of the rows that `add_rows` adds.
  void may_wait(auto add_rows) {
    const std::size_t first = rows_.size();
    add_rows();
    for (std::size_t row = first; row < rows_.size(); ++row) rows_[row].may_wait = true;
  }

  // A normed activation, all tokens of it: its bytes until they are given back.
  void norm(std::string_view name, Phase phase, std::optional<SavedRow> makes = std::nullopt) {
    add({.name = name,
         .phase = phase,
         .makes = makes,
         .moved = size.local_hidden,
         .takes = {.workspace = size.local_hidden}});
    if (!size.gathers) return;
    add({.name = name,
         .phase = phase,
         .makes = makes,
         .collective = {.kind = CollectiveKind::AllGather, .bytes = size.full_hidden},
         .takes = {.communication = size.full_hidden},
         .frees = {.workspace = size.local_hidden}});
  }
  MemoryUse normed() const {
    return size.gathers ? MemoryUse{.communication = size.full_hidden}
                        : MemoryUse{.workspace = size.local_hidden};
  }

  // The gradient of local tokens, in a tensor of all.
  void enter_gradient(std::string_view name) {
    if (!size.gathers) return;
    add({.name = name,
         .phase = Phase::Backward,
         .collective = {.kind = CollectiveKind::AllGather, .bytes = size.full_hidden},
         .takes = entered()});
  }
  MemoryUse entered() const { return {.communication = size.gathers ? size.full_hidden : 0}; }

  // Partial sums of all tokens become the sum of the local ones.
  void leave(std::string_view name, Phase phase, std::optional<SavedRow> makes = std::nullopt) {
    if (!size.reduces) return;
    Operation row{.name = name, .phase = phase, .makes = makes};
    row.collective = {.kind = size.gathers ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
                      .bytes = size.full_hidden};
    if (size.gathers) {
      row.takes.activations = size.local_hidden;
      row.frees.activations = size.full_hidden;
    }
    add(row);
  }

  const BlockSizes size;

 private:
  static constexpr std::size_t kMostRows = 32;  // of a block, or nearly

  Operations rows_;
};

}  // namespace caravan::planner
