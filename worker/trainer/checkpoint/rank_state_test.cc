// Files do not depend on the layout that wrote them, and reading them into any layout loses nothing: what
// every layout writes is compared, byte for byte, with what one rank writes, and so is what it writes after
// it has read. So every layout reads what every other has written.
#include "worker/trainer/checkpoint/rank_state.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "checkpoint/folder/commit.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/tensors.h"
#include "common/testing/sample.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"
#include "planner/placement.h"
#include "worker/trainer/checkpoint/snapshot.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/kernels/random_normal.h"
#include "worker/trainer/model/owned_parts.h"
#include "worker/trainer/model/testing/allocate_parameters.h"
#include "worker/trainer/model/testing/odd_model.h"

namespace caravan::trainer {
namespace {

using checkpoint::StateKind;
using planner::Layout;
using planner::ScheduleKind;

constexpr int64_t kBlockBytes = 2048;
constexpr int64_t kLargestFile = 20'000;  // several files of each kind
constexpr int kStep = 7;
constexpr int kUpdates = 6;

struct Case {
  std::string name;
  Layout layout;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

Layout layout_of(int tensor, int pipeline, int data, ScheduleKind schedule = ScheduleKind::OneFOneB) {
  Layout layout;
  layout.mesh = {.tensor = tensor, .data = data, .pipeline = pipeline};
  layout.schedule = schedule;
  layout.virtual_stages = planner::smallest_spec(schedule, pipeline, 1).chunks;
  layout.layers_per_stage.assign(static_cast<std::size_t>(pipeline), 8 / pipeline);
  return layout;
}

// The parts of one rank that a checkpoint is made of, without its groups.
struct TestRank {
  TestRank(const planner::ModelShape& model, const Layout& layout, int rank, at::ScalarType storage)
      : position(planner::position_of(rank, layout.mesh)),
        placement{.chunks = planner::place_layers(layout).groups_of(position.pipeline),
                  .tensor_rank = position.tensor,
                  .tensor_size = layout.mesh.tensor},
        slice{.rank = position.data, .size = layout.mesh.data},
        data(std::move(make_fake_group(layout.mesh.data)[static_cast<std::size_t>(position.data)])),
        parameters(allocate_parameters(model, placement, layout.mesh.data, storage)),
        optimizer(parameters, *data, {}, {.zero_stage = layout.zero_stage}) {}

  RankState state() { return {parameters, optimizer, placement}; }

  // Values that depend on kind, tensor and element alone.
  void fill() {
    initialise_parameters(parameters, 5);
    fill(StateKind::Master, optimizer.states().master);
    fill(StateKind::FirstMoment, optimizer.states().first_moment);
    fill(StateKind::SecondMoment, optimizer.states().second_moment);
    optimizer.set_updates(kUpdates);
  }

  void fill(StateKind kind, const at::Tensor& states) {
    if (!states.defined()) return;
    const auto updated = slices_of(parameters.layout, optimizer.shard());
    for (const OwnedPart& owned : owned_parts(parameters.layout, placement, updated, Selection::Everything)) {
      const Bucket& bucket = parameters.layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
      const uint64_t key = kernels::random_key(static_cast<uint64_t>(kind), owned.part.name);
      for_each_run(owned, [&](const auto& run) {
        const int64_t offset = state_offset_of(bucket, optimizer.shard(), run.values.offset);
        at::Tensor values = states.narrow(0, offset, run.values.elements);
        kernels::fill_normal(values, key, run.first_full, 1);
      });
    }
  }

  planner::MeshPosition position;
  StagePlacement placement;
  DataShard slice;
  std::unique_ptr<Communicator> data;  // only asked who is in it
  ParameterStore parameters;
  Optimizer optimizer;
};

class Ranks {
 public:
  Ranks(const planner::ModelShape& model, const Layout& layout, at::ScalarType storage)
      : model_(model),
        layout_(layout),
        plan_(checkpoint::tensors_of(model), state_types(storage, false), kLargestFile) {
    for (int rank = 0; rank < layout.mesh.ranks(); ++rank)
      ranks_.push_back(std::make_unique<TestRank>(model, layout, rank, storage));
  }

  void fill() {
    for (const auto& rank : ranks_) rank->fill();
  }

  void save(const std::string& folder) {
    const auto volume = checkpoint::make_volume(folder).value();
    const checkpoint::Owner owner{.job = "tiny"};
    const checkpoint::SaveRequest request{
        .owner = owner,
        .model = model_,
        .layout = layout_,
        .terms = {.seed = 5, .sequence_length = 16, .global_batch_sequences = 4},
        .state = {.step = kStep, .updates = ranks_[0]->optimizer.updates(), .samples = 28}};
    const Status begun = begin_save(*volume, plan_, request.id());
    ASSERT_TRUE(begun) << begun.error().message;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      checkpoint::RankWriter writer(*volume, plan_, request.id(), static_cast<int>(rank), kBlockBytes);
      Snapshot snapshot(ranks_[rank]->state(), ranks_[rank]->slice);
      snapshot.take();
      const Status written = snapshot.write(plan_, writer);
      ASSERT_TRUE(written) << written.error().message;
    }
    const Status committed = commit(*volume, plan_, request, kBlockBytes);
    ASSERT_TRUE(committed) << committed.error().message;
  }

  void load_weights(const std::string& folder) {
    for (const auto& rank : ranks_) {
      auto from = checkpoint::WeightsFolder::open(folder);
      ASSERT_TRUE(from) << from.error().message;
      const Status read = read_weights(*from, rank->state());
      ASSERT_TRUE(read) << read.error().message;
    }
  }

  const TestRank& rank(std::size_t number) const { return *ranks_[number]; }

  void load(const std::string& folder) {
    const auto volume = checkpoint::open_volume(folder).value();
    for (const auto& rank : ranks_) {
      auto from = checkpoint::Checkpoint::open(*volume, kStep);
      ASSERT_TRUE(from) << from.error().message;
      const Status read = read_state(*from, rank->state());
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(rank->optimizer.updates(), kUpdates);
    }
  }

 private:
  planner::ModelShape model_;
  Layout layout_;
  checkpoint::FilePlan plan_;
  std::vector<std::unique_ptr<TestRank>> ranks_;
};

// All but the manifest, which says who wrote.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(folder) / checkpoint::step_folder(kStep)))
    files[entry.path().filename()] = test::contents(entry.path());
  files.erase(checkpoint::kManifestFile);
  return files;
}

void expect_same_files(const std::string& actual, const std::string& expected) {
  const auto got = files_of(actual);
  const auto want = files_of(expected);
  ASSERT_GT(want.size(), 4u);
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, bytes] : want) EXPECT_TRUE(got.at(name) == bytes) << name;
}

// With the checkpoint of one rank in the folder "one", for models of both kinds in both types.
template <typename Check>
void for_each_checkpoint(Check check) {
  for (const bool tied : {false, true}) {
    for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(std::string(tied ? "tied " : "") + toString(storage));
      const test::TemporaryFolder folder;
      const planner::ModelShape model = odd_model(24, 8, tied);
      Ranks one(model, layout_of(1, 1, 1), storage);
      one.fill();
      one.save(folder.path("one"));
      check(model, storage, folder);
    }
  }
}

class Resharding : public testing::TestWithParam<Case> {};

TEST_P(Resharding, NeitherWritingNorReadingChangesAByte) {
  CARAVAN_BY_TURNS();
  for_each_checkpoint(
      [](const planner::ModelShape& model, at::ScalarType storage, const test::TemporaryFolder& folder) {
        Ranks written(model, GetParam().layout, storage);
        written.fill();
        written.save(folder.path("written"));
        expect_same_files(folder.path("written"), folder.path("one"));

        Ranks read(model, GetParam().layout, storage);
        read.load(folder.path("one"));
        read.save(folder.path("read"));
        expect_same_files(folder.path("read"), folder.path("one"));
      });
}

std::vector<Case> cases() {
  Layout uneven = layout_of(1, 2, 1);
  uneven.layers_per_stage = {3, 5};
  Layout whole_states = layout_of(1, 1, 2);
  whole_states.zero_stage = 0;
  return {{"OneRank", layout_of(1, 1, 1)},
          {"Tensor2", layout_of(2, 1, 1)},
          {"Pipeline2", layout_of(1, 2, 1)},
          {"Pipeline4", layout_of(1, 4, 1)},
          {"Uneven", uneven},
          {"Data2", layout_of(1, 1, 2)},
          {"Data2WithoutSharding", whole_states},
          {"Data5", layout_of(1, 1, 5)},
          {"Tensor2Pipeline2", layout_of(2, 2, 1)},
          {"Pipeline2Interleaved", layout_of(1, 2, 1, ScheduleKind::Interleaved)},
          {"Pipeline2VHalf", layout_of(1, 2, 1, ScheduleKind::VHalf)},
          {"Tensor2Pipeline2Data3VHalf", layout_of(2, 2, 3, ScheduleKind::VHalf)}};
}

INSTANTIATE_TEST_SUITE_P(Layouts, Resharding, testing::ValuesIn(test::sampled(cases(), 2)),
                         [](const auto& info) { return info.param.name; });

// The weights of a folder, in files of any number and in any layout, are those of the checkpoint that is
// written next, byte for byte.
class Weights : public testing::TestWithParam<Case> {};

TEST_P(Weights, OfAFolderComeBackByteForByte) {
  CARAVAN_BY_TURNS();
  for_each_checkpoint(
      [](const planner::ModelShape& model, at::ScalarType storage, const test::TemporaryFolder& folder) {
        Ranks begun(model, GetParam().layout, storage);
        begun.load_weights(folder.path("one/" + checkpoint::step_folder(kStep)));
        EXPECT_EQ(begun.rank(0).optimizer.updates(), 0);
        begun.save(folder.path("begun"));

        const auto want = files_of(folder.path("one"));
        const auto got = files_of(folder.path("begun"));
        int compared = 0;
        for (const auto& [name, bytes] : got) {
          if (name.starts_with("model-") || name == checkpoint::kConfigFile) {
            EXPECT_TRUE(bytes == want.at(name)) << name;
            ++compared;
          } else if (name.find("moment") != std::string::npos) {
            const std::size_t header = bytes.find('\0', 8);
            EXPECT_EQ(bytes.find_first_not_of('\0', header), std::string::npos) << name << " is not zero";
          }
        }
        EXPECT_GT(compared, 2);
      });
}

INSTANTIATE_TEST_SUITE_P(Layouts, Weights, testing::ValuesIn(test::sampled(cases(), 2)),
                         [](const auto& info) { return info.param.name; });

// Of fp32 files the master copies keep what bf16 would lose.
TEST(InitialWeights, AreRoundedInTheWeightsAndNotInTheMasterCopies) {
  const test::TemporaryFolder folder;
  const planner::ModelShape model = odd_model(24, 8, false);
  Ranks wide(model, layout_of(1, 1, 1), at::kFloat);
  wide.fill();
  wide.save(folder.path("wide"));
  for (const Layout& layout : {layout_of(1, 1, 1), layout_of(2, 2, 2)}) {
    Ranks begun(model, layout, at::kBFloat16);
    begun.load_weights(folder.path("wide/" + checkpoint::step_folder(kStep)));
    Ranks expected(model, layout, at::kFloat);
    expected.load(folder.path("wide"));
    for (int rank = 0; rank < layout.mesh.ranks(); ++rank) {
      const TestRank& actual = begun.rank(static_cast<std::size_t>(rank));
      const TestRank& exact = expected.rank(static_cast<std::size_t>(rank));
      EXPECT_TRUE(at::equal(actual.parameters.values, exact.parameters.values.to(at::kBFloat16)));
      const auto updated = slices_of(actual.parameters.layout, actual.optimizer.shard());
      for (const OwnedPart& owned :
           owned_parts(actual.parameters.layout, actual.placement, updated, Selection::Everything)) {
        const Bucket& bucket =
            actual.parameters.layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
        const int64_t offset = state_offset_of(bucket, actual.optimizer.shard(), owned.values.offset);
        EXPECT_TRUE(at::equal(actual.optimizer.states().master.narrow(0, offset, owned.values.elements),
                              exact.parameters.values.narrow(0, owned.values.offset, owned.values.elements)))
            << owned.part.name;
      }
    }
  }
}

// Bytes that this process has read from files.
int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  int64_t bytes = -1;
  file >> name >> bytes;
  return name == "rchar:" ? bytes : -1;
}

TEST(InitialWeights, OfTheTypeThatIsTrainedInAreReadOnce) {
  const test::TemporaryFolder folder;
  const planner::ModelShape model = odd_model(24, 8, false);
  Ranks written(model, layout_of(1, 1, 1), at::kBFloat16);
  written.fill();
  written.save(folder.path("all"));
  const std::string step = folder.path("all/" + checkpoint::step_folder(kStep));
  std::filesystem::remove(step + "/manifest.json");  // whose blocks are read whole
  const Layout layout = layout_of(1, 1, 1);
  TestRank begun(model, layout, 0, at::kBFloat16);
  auto from = checkpoint::WeightsFolder::open(step).value();
  ASSERT_TRUE(from.check_all());
  const int64_t before = bytes_read();
  ASSERT_GT(before, 0);
  const Status read = read_weights(from, begun.state());
  ASSERT_TRUE(read) << read.error().message;
  const int64_t weights = begun.parameters.layout.elements * 2;
  EXPECT_LT(bytes_read() - before, weights + weights / 4);
  const auto updated = slices_of(begun.parameters.layout, begun.optimizer.shard());
  for (const OwnedPart& owned :
       owned_parts(begun.parameters.layout, begun.placement, updated, Selection::Everything)) {
    const Bucket& bucket = begun.parameters.layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
    const int64_t offset = state_offset_of(bucket, begun.optimizer.shard(), owned.values.offset);
    EXPECT_TRUE(at::equal(
        begun.optimizer.states().master.narrow(0, offset, owned.values.elements),
        begun.parameters.values.narrow(0, owned.values.offset, owned.values.elements).to(at::kFloat)))
        << owned.part.name;
  }
}

TEST(InitialWeights, OfAnotherShapeAreRefusedByName) {
  const test::TemporaryFolder folder;
  Ranks written(odd_model(24, 8, true), layout_of(1, 1, 1), at::kFloat);
  written.fill();
  written.save(folder.path("all"));
  auto from = checkpoint::WeightsFolder::open(folder.path("all/" + checkpoint::step_folder(kStep))).value();
  TestRank untied(odd_model(24, 8, false), layout_of(1, 1, 1), 0, at::kFloat);
  const Status read = read_weights(from, untied.state());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ExitCode::kBadInput);
  EXPECT_NE(read.error().message.find("has no tensor 'lm_head.weight'"), std::string::npos)
      << read.error().message;
}

TEST(RankState, IsTheSameAfterTheTripInPiecesOfAnySize) {
  const test::TemporaryFolder folder;
  Ranks written(odd_model(24, 8, false), layout_of(2, 1, 2), at::kBFloat16);
  written.fill();
  written.save(folder.path("all"));
  TestRank expected(odd_model(24, 8, false), layout_of(2, 1, 2), 3, at::kBFloat16);
  expected.fill();
  const auto volume = checkpoint::open_volume(folder.path("all")).value();
  auto from = checkpoint::Checkpoint::open(*volume, kStep).value();
  const auto read_in = [&](std::size_t bytes) {
    TestRank actual(odd_model(24, 8, false), layout_of(2, 1, 2), 3, at::kBFloat16);
    int pieces = 0;
    EXPECT_TRUE(read_state(from, actual.state(), {.bytes = bytes, .between = [&] { ++pieces; }}));
    EXPECT_TRUE(at::equal(actual.parameters.values, expected.parameters.values));
    const auto &read = actual.optimizer.states(), &want = expected.optimizer.states();
    EXPECT_TRUE(at::equal(read.master, want.master));
    EXPECT_TRUE(at::equal(read.first_moment, want.first_moment));
    EXPECT_TRUE(at::equal(read.second_moment, want.second_moment));
    return pieces;
  };
  const int pieces = read_in(Pieces().bytes);
  EXPECT_GT(read_in(240), pieces);
}

}  // namespace
}  // namespace caravan::trainer
