// The trainer does what the rows of planner/work say, call by call: the same products and collectives in the
// same order, with as much alive before each and at most between two of them, and it saves what they save. A
// failure names the row.
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "planner/work/block_sizes.h"
#include "planner/work/blocks.h"
#include "planner/work/stage_footprint.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/device/testing/gpu.h"
#include "worker/trainer/kernels/product_listener.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/model/layer.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/model/testing/allocate_parameters.h"
#include "worker/trainer/model/testing/small_stage.h"

namespace caravan::trainer {
namespace {

using planner::CollectiveKind;
using planner::ElementType;
using planner::Operation;
using planner::Operations;
using planner::RecomputedPart;
using planner::StageShape;

// A product or a collective, and memory relative to the start of the phase.
struct Event {
  std::string call;
  int64_t live = 0;  // when it begins
  int64_t peak = 0;  // since the event before
  bool operator==(const Event&) const = default;
};

std::string text(const Event& event) {
  return fmt::format("{}, {} bytes alive, {} at most since the call before", event.call, event.live,
                     event.peak);
}

std::string product_call(int64_t tokens, int64_t outputs, int64_t inputs) {
  return fmt::format("product {} x {} x {}", tokens, outputs, inputs);
}

std::string collective_call(CollectiveKind kind, int64_t bytes) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return fmt::format("all-reduce of {} bytes", bytes);
    case CollectiveKind::AllGather:
      return fmt::format("all-gather of {} bytes", bytes);
    case CollectiveKind::ReduceScatter:
      break;
  }
  return fmt::format("reduce-scatter of {} bytes", bytes);
}

// Writes down what the trainer does.
class Record final : public kernels::ProductListener {
 public:
  explicit Record(MemoryLedger& ledger) : ledger_(ledger), start_(ledger.live().total()) {
    ledger_.reset_peak();
  }

  void product(int64_t tokens, int64_t outputs, int64_t inputs) override {
    add(product_call(tokens, outputs, inputs));
  }
  void add(std::string call) {
    events_.push_back({.call = std::move(call),
                       .live = ledger_.live().total() - start_,
                       .peak = ledger_.peak().total() - start_});
    ledger_.reset_peak();
  }
  std::vector<Event> finish() {
    add("the end");
    return std::move(events_);
  }

 private:
  MemoryLedger& ledger_;
  const int64_t start_;
  std::vector<Event> events_;
};

// Tells the record of a phase, if there is one, and does what the group does.
class RecordedGroup final : public Communicator {
 public:
  explicit RecordedGroup(Communicator& group) : group_(group) {}

  void tell(Record* record) { record_ = record; }

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    add(CollectiveKind::AllReduce, tensor);
    const ChargeAs charge(MemoryUse::Communication);  // as a metered group does
    group_.all_reduce(tensor, reduction);
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    add(CollectiveKind::AllGather, output);
    const ChargeAs charge(MemoryUse::Communication);  // as a metered group does
    group_.all_gather(output, input);
  }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    add(CollectiveKind::ReduceScatter, input);
    const ChargeAs charge(MemoryUse::Communication);  // as a metered group does
    group_.reduce_scatter(output, input);
  }
  void broadcast(at::Tensor& tensor, int root) override { group_.broadcast(tensor, root); }
  void barrier() override { group_.barrier(); }
  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    return group_.send(tensor, peer, tag);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    return group_.receive(tensor, peer, tag);
  }

 private:
  void add(CollectiveKind kind, const at::Tensor& tensor) {
    if (record_ != nullptr && size() > 1)
      record_->add(collective_call(kind, static_cast<int64_t>(tensor.nbytes())));
  }

  Communicator& group_;
  Record* record_ = nullptr;
};

struct ExpectedEvent {
  Event event;
  std::string row;
};

// Plays rows on paper.
class Paper {
 public:
  // Neighbours that are run in as many pieces take turns.
  void play(const Operations& rows) {
    for (auto row = rows.begin(); row != rows.end();) {
      auto end = row + 1;
      while (end != rows.end() && row->pieces > 1 && end->pieces == row->pieces) ++end;
      for (int64_t piece = 0; piece < row->pieces; ++piece) {
        for (auto each = row; each != end; ++each) play(*each);
      }
      row = end;
    }
  }

  void take(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  void free(int64_t bytes) { live_ -= bytes; }

  std::vector<ExpectedEvent> finish() {
    add("the end", "what follows the last call");
    return std::move(events_);
  }

 private:
  void play(const Operation& row) {
    if (row.product.tokens > 0)
      add(product_call(row.product.tokens / row.pieces, row.product.outputs, row.product.inputs), row.name);
    live_ += row.takes.total();
    peak_ = std::max(peak_, live_);
    if (row.collective.bytes > 0)
      add(collective_call(row.collective.kind, row.collective.bytes / row.pieces), row.name);
    peak_ = std::max(peak_, live_ + row.moment.total());
    live_ -= row.frees.total();
  }

  void add(std::string call, std::string_view row) {
    events_.push_back(
        {.event = {.call = std::move(call), .live = live_, .peak = peak_}, .row = std::string(row)});
    peak_ = live_;
  }

  int64_t live_ = 0;
  int64_t peak_ = 0;
  std::vector<ExpectedEvent> events_;
};

void expect_rows(const char* phase, const std::vector<Event>& done, Paper paper) {
  const std::vector<ExpectedEvent> rows = paper.finish();
  for (std::size_t i = 0; i < std::min(done.size(), rows.size()); ++i) {
    if (done[i] == rows[i].event) continue;
    ADD_FAILURE() << phase << ": row " << rows[i].row << ", after "
                  << (i == 0 ? std::string("the start") : rows[i - 1].row) << ", says\n  "
                  << text(rows[i].event) << "\nthe trainer does\n  " << text(done[i]);
    return;
  }
  EXPECT_EQ(done.size(), rows.size()) << phase;
}

struct RowsCase {
  std::string name;
  int64_t tensor = 1;
  bool sequence_parallel = false;
  int64_t recomputed_layers = 0;
  RecomputedPart recomputed_part = RecomputedPart::Layer;
  ElementType storage = ElementType::FP32;
  int64_t sequence_length = 64;
  std::vector<int64_t> segments = {};
  int64_t micro_batch_size = 1;
  int64_t vocab = 256;
  bool gpu = false;
};

void PrintTo(const RowsCase& each, std::ostream* out) {
  *out << each.name;
}

StageShape shape_of(const RowsCase& each) {
  StageShape stage = small_stage(2);
  stage.model.vocab = each.vocab;
  stage.tensor = each.tensor;
  stage.sequence_parallel = each.sequence_parallel;
  stage.recomputed_layers = each.recomputed_layers;
  stage.recomputed_part = each.recomputed_part;
  stage.micro_batch_size = each.micro_batch_size;
  stage.sequence_length = each.sequence_length;
  stage.segments = each.segments;
  stage.storage = each.storage;
  stage.gpu = each.gpu;
  return stage;
}

int64_t dropped_bytes(const StageShape& shape) {
  int64_t bytes = 0;
  for (const planner::SavedTensor& tensor : planner::saved_tensors(shape))
    if (is_made_again(tensor.row, shape.recomputed_part)) bytes += tensor.bytes;
  return bytes;
}

// What a layer keeps for the segments behind, though it runs again.
int64_t copied_bytes(const StageShape& shape) {
  const bool copies = shape.has_later_segments() && shape.recomputed_part == RecomputedPart::Layer;
  return copies ? planner::BlockSizes(shape).keys_and_values : 0;
}

Paper forward_rows(const StageShape& shape) {
  Paper paper;
  paper.play(embedding_forward(shape));
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    paper.play(layer_forward(shape));
    if (layer >= shape.recomputed_layers) continue;
    paper.take(copied_bytes(shape));
    paper.free(dropped_bytes(shape));
  }
  paper.play(head_forward(shape));
  return paper;
}

// of_layer: the rows of one, whole or its first part.
Paper backward_rows(const StageShape& shape, const Operations& of_layer) {
  Paper paper;
  for (int64_t layer = shape.layers - 1; layer >= 0; --layer) {
    if (layer < shape.recomputed_layers) {
      paper.free(copied_bytes(shape));
      paper.play(layer_recompute(layer_forward(shape), shape.recomputed_part));
    }
    paper.play(of_layer);
  }
  paper.play(embedding_backward(shape));
  return paper;
}

Paper weight_rows(const StageShape& shape) {
  Paper paper;
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    paper.play(layer_backward_weight(layer_backward(shape)));
  return paper;
}

// A whole sequence is one.
std::vector<StageShape> segments_of(StageShape shape) {
  std::vector<StageShape> segments;
  do {
    segments.push_back(shape);
  } while (++shape.segment < static_cast<int>(shape.segments.size()));
  return segments;
}

// One rank of a stage with everything on it.
class RankUnderTest {
 public:
  RankUnderTest(const StageShape& shape, Communicator& group, MemoryLedger& ledger)
      : shape_(shape),
        segments_(segments_of(shape)),
        ledger_(ledger),
        group_(group),
        placement_{.chunks = {{.layers = static_cast<int>(shape.layers),
                               .has_embedding = true,
                               .has_head = true,
                               .recomputed_layers = static_cast<int>(shape.recomputed_layers)}},
                   .tensor_rank = group.rank(),
                   .tensor_size = group.size()},
        store_(allocate_parameters(shape.model, placement_, 1, scalar_type(shape.storage))) {
    initialise_parameters(store_, 1);
  }

  void check_calls() {
    Stage stage(options(), store_, group_);
    const std::vector<TokenBatch> batches = tokens();
    std::shared_ptr<StageSaved> saved;
    const auto forwards = [&] {
      for (const StageShape& segment : segments_) {
        const TokenBatch& batch = batches[segment.segment];
        const auto done = record([&] { saved = stage.forward(0, batch, {}, std::move(saved)).saved; });
        expect_rows("forward", done, forward_rows(segment));
      }
    };
    forwards();
    for (const StageShape& segment : last_first()) {
      const auto done = record([&] { stage.backward(saved, {}, nullptr); });
      expect_rows("backward", done, backward_rows(segment, layer_backward(segment)));
    }
    saved.reset();
    forwards();
    for (const StageShape& segment : last_first()) {
      WeightGradientQueue waiting;
      const auto by_input = record([&] { stage.backward(saved, {}, &waiting); });
      expect_rows("backward by the input", by_input,
                  backward_rows(segment, layer_backward_input(layer_backward(segment))));
      const auto by_weight = record([&] { run_all(std::move(waiting)); });
      expect_rows("backward by the weights", by_weight, weight_rows(segment));
    }
  }

  void check_uses() {
    Stage stage(options(), store_, group_);
    const std::vector<TokenBatch> batches = tokens();
    std::shared_ptr<StageSaved> saved;
    const auto forwards = [&] {
      for (const StageShape& segment : segments_) {
        const TokenBatch& batch = batches[segment.segment];
        expect_uses("forward", planner::stage_footprint(segment).forward.peak,
                    [&] { saved = stage.forward(0, batch, {}, std::move(saved)).saved; });
      }
    };
    forwards();
    for (const StageShape& segment : last_first())
      expect_uses("backward", planner::stage_footprint(segment).backward.peak,
                  [&] { stage.backward(saved, {}, nullptr); });
    saved.reset();
    forwards();
    for (const StageShape& segment : last_first()) {
      WeightGradientQueue waiting;
      expect_uses("backward by the input", planner::stage_footprint(segment).backward_input.peak,
                  [&] { stage.backward(saved, {}, &waiting); });
      expect_uses("backward by the weights", planner::stage_footprint(segment).backward_weight.peak,
                  [&] { run_all(std::move(waiting)); });
    }
    saved.reset();
    for (const StageShape& segment : segments_) {
      const TokenBatch& batch = batches[segment.segment];
      expect_uses("evaluation", planner::stage_footprint(segment).evaluate.peak,
                  [&] { saved = stage.evaluate(0, batch, {}, std::move(saved)).saved; });
    }
  }

  // Between forwards and backwards, tokens apart.
  void check_kept() {
    Stage stage(options(), store_, group_);
    std::shared_ptr<StageSaved> saved;
    const std::vector<TokenBatch> batches = tokens();
    const int64_t before = ledger_.live().total();
    int64_t kept = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      saved = stage.forward(0, batches[i], {}, std::move(saved)).saved;
      kept += planner::stage_footprint(segments_[i]).kept;
      EXPECT_EQ(ledger_.live().total() - before, kept) << "after the forward of segment " << i;
    }
    for (std::size_t i = segments_.size(); i-- > 0;) {
      stage.backward(saved, {}, nullptr);
      const planner::StageFootprint rows = planner::stage_footprint(segments_[i]);
      kept += rows.lent - rows.borrowed - rows.kept;
      EXPECT_EQ(ledger_.live().total() - before, kept) << "after the backward of segment " << i;
    }
    EXPECT_EQ(kept, 0);
  }

  void check_saved() {
    const TensorRegion region(group_, shape_.sequence_parallel);
    const planner::ModelShape& model = shape_.model;
    const Layer layer(
        store_, 0,
        {.norm_eps = model.norm_eps,
         .attention = {.sequences = shape_.micro_batch_size,
                       .heads = model.heads / shape_.tensor,
                       .kv_heads = model.kv_heads / shape_.tensor,
                       .head_dim = model.head_dim},
         .rope_table_SK = kernels::rope_table(model, shape_.sequence_length, scalar_type(shape_.storage))},
        region);
    const planner::BlockSizes size(shape_);
    const LayerSaved saved = layer.run_to_saved(
        at::randn({size.local_tokens, size.hidden}, at::TensorOptions(scalar_type(shape_.storage))), {});
    const at::Tensor tensors[] = {
        saved.input_TD,           saved.attention_scale_T, saved.qkv_TE,      saved.attention.output_TA,
        saved.attention.log_sums, saved.middle_TD,         saved.mlp_scale_T, saved.gate_up_T2F};
    const auto rows = planner::saved_tensors(shape_);
    ASSERT_EQ(rows.size(), std::size(tensors));
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(static_cast<int64_t>(tensors[i].nbytes()), rows[i].bytes) << "saved row " << rows[i].name;
  }

 private:
  std::vector<StageShape> last_first() const { return {segments_.rbegin(), segments_.rend()}; }

  StageOptions options() const {
    return {.model = shape_.model,
            .placement = placement_,
            .micro_batch_size = shape_.micro_batch_size,
            .sequence_length = shape_.sequence_length,
            .segments = shape_.segments,
            .sequence_parallel = shape_.sequence_parallel,
            .recomputed_part = shape_.recomputed_part,
            .storage = scalar_type(shape_.storage)};
  }

  // By segment. They are handed in: whoever holds them decides when they go.
  std::vector<TokenBatch> tokens() const {
    std::vector<TokenBatch> batches;
    for (const StageShape& segment : segments_) {
      const auto ids = [&] {
        return at::randint(0, shape_.model.vocab, {shape_.micro_batch_size, segment.tokens_at_work()},
                           at::kLong);
      };
      batches.push_back({.inputs_BS = ids(), .targets_BS = ids()});
    }
    return batches;
  }

  // What the rank's tensors are used for when most of them are alive.
  template <typename Work>
  void expect_uses(const char* phase, const planner::MemoryUse& rows, Work work) {
    const planner::MemoryTerms before = ledger_.live();
    ledger_.reset_peak();
    work();
    const planner::MemoryTerms peak = ledger_.peak();
    EXPECT_EQ(peak.activations - before.activations, rows.activations) << phase << ": activations";
    EXPECT_EQ(peak.logits - before.logits, rows.logits) << phase << ": logits";
    EXPECT_EQ(peak.workspace - before.workspace, rows.workspace) << phase << ": workspace";
    EXPECT_EQ(peak.communication - before.communication, rows.communication) << phase << ": communication";
  }

  template <typename Work>
  std::vector<Event> record(Work work) {
    Record record(ledger_);
    group_.tell(&record);
    {
      const kernels::HearProducts hear(record);
      work();
    }
    group_.tell(nullptr);
    return record.finish();
  }

  const StageShape shape_;
  const std::vector<StageShape> segments_;
  MemoryLedger& ledger_;
  RecordedGroup group_;
  const StagePlacement placement_;
  ParameterStore store_;
};

class WorkRows : public testing::TestWithParam<RowsCase> {
 protected:
  // On every rank, each a thread, but for the one with emulated kernels: all tests launch them from this one.
  template <typename Check>
  void on_every_rank(Check check) {
    const StageShape shape = shape_of(GetParam());
    std::optional<kernels::UseKernels> of_gpus;
    if (shape.gpu) of_gpus.emplace(at::kCPU, *kernels::gpu::tested_gpu(scalar_type(shape.storage)).kernels);
    std::vector<MemoryLedger> ledgers(static_cast<std::size_t>(shape.tensor));
    MemoryCounter other;
    const CountingAllocator allocator(other);
    const auto group = make_fake_group(static_cast<int>(shape.tensor));
    const auto run = [&](Communicator& own_group) {
      at::set_num_threads(1);
      MemoryLedger& ledger = ledgers[static_cast<std::size_t>(own_group.rank())];
      const LedgerScope scope(ledger);
      RankUnderTest rank(shape, own_group, ledger);
      check(rank);
    };
    if (shape.gpu) return run(*group.front());
    std::vector<std::jthread> ranks;
    for (const auto& communicator : group) ranks.emplace_back(run, std::ref(*communicator));
  }
};

TEST_P(WorkRows, AreWhatTheTrainerDoesCallByCall) {
  CARAVAN_BY_TURNS();
  on_every_rank([](RankUnderTest& rank) { rank.check_calls(); });
}

TEST_P(WorkRows, SayWhatTheTensorsOfThePeakAreUsedFor) {
  CARAVAN_BY_TURNS();
  on_every_rank([](RankUnderTest& rank) { rank.check_uses(); });
}

TEST_P(WorkRows, SayWhatIsKeptBetweenForwardAndBackward) {
  CARAVAN_BY_TURNS();
  on_every_rank([](RankUnderTest& rank) { rank.check_kept(); });
}

TEST_P(WorkRows, SaveWhatTheTrainerSaves) {
  on_every_rank([](RankUnderTest& rank) { rank.check_saved(); });
}

struct Again {
  const char* name;
  int64_t layers;
  RecomputedPart part = RecomputedPart::Layer;
};

constexpr Again kAgain[] = {{"", 0},
                            {"CheckpointingOneOfTwo", 1},
                            {"Checkpointing", 2},
                            {"CheckpointingOneMlpOfTwo", 1, RecomputedPart::Mlp}};

// Tensor parallelism × sequence parallelism × recomputation × precision × two sequence lengths.
void add_grid(std::vector<RowsCase>& all) {
  for (const int64_t tensor : {1, 2, 4}) {
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && tensor == 1) continue;
      for (const Again& again : kAgain) {
        for (const ElementType storage : {ElementType::FP32, ElementType::BF16}) {
          for (const int64_t length : {64, 800}) {
            const std::string name =
                fmt::format("Tensor{}{}{}{}Length{}", tensor, sequence_parallel ? "Sequence" : "", again.name,
                            storage == ElementType::BF16 ? "Bf16" : "", length);
            all.push_back({.name = name,
                           .tensor = tensor,
                           .sequence_parallel = sequence_parallel,
                           .recomputed_layers = again.layers,
                           .recomputed_part = again.part,
                           .storage = storage,
                           .sequence_length = length});
          }
        }
      }
    }
  }
}

// Micro-batches of several sequences, logits in chunks.
void add_what_stands_apart(std::vector<RowsCase>& all) {
  all.push_back({.name = "Fp64", .storage = ElementType::FP64});
  all.push_back({.name = "Sequences", .micro_batch_size = 3});
  all.push_back({.name = "SequencesBf16", .storage = ElementType::BF16, .micro_batch_size = 2});
  all.push_back({.name = "ChunksOfLogits", .sequence_length = 1536, .vocab = 5000});
  all.push_back({.name = "Tensor2ChunksOfLogitsBf16",
                 .tensor = 2,
                 .sequence_parallel = true,
                 .storage = ElementType::BF16,
                 .sequence_length = 1536,
                 .vocab = 10000});
}

void add_segments(std::vector<RowsCase>& all) {
  for (const Again& again : kAgain) {
    for (const ElementType storage : {ElementType::FP32, ElementType::BF16}) {
      for (const int64_t tensor : {1, 2}) {
        all.push_back({.name = fmt::format("SegmentsTensor{}{}{}", tensor, again.name,
                                           storage == ElementType::BF16 ? "Bf16" : ""),
                       .tensor = tensor,
                       .sequence_parallel = tensor > 1,
                       .recomputed_layers = again.layers,
                       .recomputed_part = again.part,
                       .storage = storage,
                       .sequence_length = 96,
                       .segments = {40, 32, 24}});
      }
    }
  }
}

// Attention of GPUs by plain products, as fp32 has it; in bf16 it is a library's. Emulated kernels are
// slow.
void add_gpus(std::vector<RowsCase>& all) {
  for (const Again& again : kAgain) {
    all.push_back({.name = fmt::format("Gpu{}", again.name),
                   .recomputed_layers = again.layers,
                   .recomputed_part = again.part,
                   .sequence_length = 16,
                   .micro_batch_size = 2,
                   .gpu = true});
  }
  all.push_back({.name = "GpuFewTokens", .sequence_length = 8, .micro_batch_size = 2, .gpu = true});
  all.push_back({.name = "GpuSegments", .sequence_length = 18, .segments = {8, 6, 4}, .gpu = true});
}

std::vector<RowsCase> cases() {
  std::vector<RowsCase> all;
  for (const auto add : {add_grid, add_what_stands_apart, add_segments, add_gpus}) add(all);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, WorkRows, testing::ValuesIn(test::sampled(cases(), 9)),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::trainer
