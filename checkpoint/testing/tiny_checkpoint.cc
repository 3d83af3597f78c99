#include "checkpoint/testing/tiny_checkpoint.h"

#include <vector>

#include "checkpoint/format/box.h"
#include "checkpoint/hugging_face/tensors.h"

namespace caravan::checkpoint::testing {
namespace {

constexpr int kRanks = 2;

std::vector<float> values_of(int step, StateKind kind, std::size_t tensor, int64_t begin, int64_t end) {
  std::vector<float> values;
  for (int64_t element = begin; element < end; ++element)
    values.push_back(tiny_value(step, kind, tensor, element));
  return values;
}

}  // namespace

planner::ModelShape tiny_model() {
  planner::ModelShape model;
  model.name = "custom";
  model.hidden = 8;
  model.layers = 2;
  model.heads = model.kv_heads = 2;
  model.head_dim = 4;
  model.ffn = 12;
  model.vocab = 20;
  model.positions = 16;
  return model;
}

FilePlan tiny_plan() {
  const StateTypes types{.weights = ElementType::F32, .states = ElementType::F32, .has_master = false};
  return FilePlan(tensors_of(tiny_model()), types, /*largest_file=*/4000);
}

SaveRequest tiny_request(int step, int attempt) {
  planner::Layout layout;
  layout.mesh.data = kRanks;
  layout.layers_per_stage = {2};
  return {.owner = {.attempt = attempt, .job = "tiny"},
          .model = tiny_model(),
          .layout = layout,
          .terms = {.seed = 1, .sequence_length = 16, .global_batch_sequences = 4, .steps = 100},
          .state = {.step = step, .updates = step, .samples = int64_t{4} * step}};
}

float tiny_value(int step, StateKind kind, std::size_t tensor, int64_t element) {
  return static_cast<float>(step) * 1000 + static_cast<float>(kind) * 100 + static_cast<float>(tensor) +
         static_cast<float>(element) / 1024;
}

Status write_tiny_rank(Volume& volume, const SaveId& id, int rank) {
  const FilePlan plan = tiny_plan();
  RankWriter writer(volume, plan, id, rank, kTinyBlock);
  for (std::size_t tensor = 0; tensor < plan.tensors().size(); ++tensor) {
    Box box = whole_tensor(plan.tensors()[tensor].shape);
    box.row = rank * (box.rows / kRanks);
    box.rows /= kRanks;
    writer.add_box(tensor, box);
    const int64_t begin = box.row * box.columns;
    for (const StateKind kind : kStateKinds) {
      if (!plan.has(kind)) continue;
      const auto values = values_of(id.step, kind, tensor, begin, begin + box.rows * box.columns);
      if (Status written = writer.write(kind, tensor, begin, std::as_bytes(std::span(values))); !written)
        return written;
    }
  }
  return writer.finish();
}

Status write_tiny_rank(Volume& volume, int step, int rank, int attempt) {
  return write_tiny_rank(volume, {.step = step, .attempt = attempt}, rank);
}

Status write_tiny(Volume& volume, int step, int attempt) {
  const SaveRequest request = tiny_request(step, attempt);
  return begin_save(volume, tiny_plan(), request.id())
      .and_then([&] { return write_tiny_rank(volume, step, 0, attempt); })
      .and_then([&] { return write_tiny_rank(volume, step, 1, attempt); })
      .and_then([&] { return commit(volume, tiny_plan(), request, kTinyBlock); });
}

bool holds_tiny_values(Checkpoint& checkpoint) {
  const FilePlan& plan = checkpoint.plan();
  for (std::size_t tensor = 0; tensor < plan.tensors().size(); ++tensor) {
    const Box box = whole_tensor(plan.tensors()[tensor].shape);
    for (const StateKind kind : kStateKinds) {
      if (!plan.has(kind)) continue;
      std::vector<float> values(static_cast<std::size_t>(box.rows * box.columns));
      if (!checkpoint.read(kind, tensor, 0, std::as_writable_bytes(std::span(values)))) return false;
      if (values != values_of(checkpoint.state().step, kind, tensor, 0, box.rows * box.columns)) return false;
    }
  }
  return true;
}

}  // namespace caravan::checkpoint::testing
