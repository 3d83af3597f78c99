#include "checkpoint/folder/commit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <vector>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/block_sums.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/tensors.h"
#include "checkpoint/testing/faulty_volume.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/sample.h"
#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

using ::testing::ElementsAre;
using testing::FaultyVolume;
using ::testing::HasSubstr;
using testing::holds_tiny_values;
using testing::tiny_plan;
using testing::tiny_request;
using testing::write_tiny;
using testing::write_tiny_rank;

std::unique_ptr<Volume> volume_in(const test::TemporaryFolder& folder) {
  return open_volume(folder.path().string()).value();
}

// What whoever starts now finds: every committed checkpoint is whole.
std::vector<int> intact_steps(const Volume& volume) {
  const std::vector<int> steps = committed_steps(volume).value();
  for (const int step : steps) {
    auto found = Checkpoint::open(volume, step);
    EXPECT_TRUE(found) << found.error().message;
    if (!found) continue;
    const Status verified = found->verify();
    EXPECT_TRUE(verified) << verified.error().message;
    EXPECT_TRUE(holds_tiny_values(*found)) << step;
  }
  return steps;
}

TEST(Commit, MakesACheckpointOfWhatAllRanksWrote) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  ASSERT_TRUE(write_tiny(*volume, 5));
  EXPECT_THAT(intact_steps(*volume), ElementsAre(5));
  const auto found = Checkpoint::open(*volume, 5).value();
  EXPECT_EQ(found.state(), tiny_request(5).state);
  EXPECT_EQ(found.terms(), tiny_request(5).terms);
  EXPECT_EQ(found.model(), testing::tiny_model());
  EXPECT_GT(found.plan().files().size(), 3u) << "no kind has several files";
}

// Whoever writes to a file has a page of it in memory, over NFS of what others write too.
TEST(Commit, FilesAreAsLongAsTheyWillBeBeforeAnybodyWritesToThem) {
  const test::TemporaryFolder folder;
  const auto real = volume_in(folder);
  FaultyVolume volume(*real);
  ASSERT_TRUE(begin_save(volume, tiny_plan(), {.step = 5}));
  for (const std::string& operation : volume.descriptions())
    EXPECT_FALSE(operation.starts_with("write ")) << operation;
  const FilePlan plan = tiny_plan();
  for (const PlannedFile& file : plan.files())
    EXPECT_EQ(real->open_input(unfinished_folder(5, 1) + "/" + file.name).value()->size(), file.length);
}

// Power is lost after any operation: what was written by then is all that there is.
TEST(Commit, EveryPrefixOfItsOperationsLeavesTheCheckpointBeforeOrBoth) {
  const test::TemporaryFolder recorded;
  const auto real = volume_in(recorded);
  FaultyVolume recorder(*real);
  ASSERT_TRUE(write_tiny(recorder, 5));
  ASSERT_TRUE(keep_newest(recorder, 1, 1000000));
  const std::size_t first = recorder.operations().size();
  ASSERT_TRUE(write_tiny(recorder, 10));
  const std::size_t written = recorder.operations().size();
  ASSERT_TRUE(keep_newest(recorder, 1, 1000000));
  ASSERT_GT(written, first + 20);

  const test::Sample sample(6);
  for (std::size_t end = first; end <= recorder.operations().size(); ++end) {
    if (!sample.takes(end)) continue;
    SCOPED_TRACE(recorder.descriptions()[end - 1]);
    const test::TemporaryFolder replayed;
    const auto volume = volume_in(replayed);
    for (std::size_t i = 0; i < end; ++i) ASSERT_TRUE(recorder.operations()[i](*volume));
    const std::vector<int> steps = intact_steps(*volume);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.front(), end + 1 < written ? 5 : 10);  // the last operation syncs the folder above
    ASSERT_TRUE(remove_unfinished(*volume));
    EXPECT_EQ(intact_steps(*volume), steps);
    EXPECT_TRUE(write_tiny(*volume, 15, /*attempt=*/2)) << "what was left over is in the way";
  }
}

TEST(Commit, AnOperationThatFailsLeavesTheCheckpointsBeforeAndTheNextSaveSucceeds) {
  const test::Sample sample(10);
  for (const bool for_good : {false, true}) {
    for (std::size_t number = 0;; ++number) {
      if (!sample.takes(number)) continue;
      const test::TemporaryFolder folder;
      const auto real = volume_in(folder);
      ASSERT_TRUE(write_tiny(*real, 5));
      FaultyVolume volume(*real);
      volume.fails_at = number;
      volume.fails_from_then_on = for_good;
      const Status saved = write_tiny(volume, 10);
      if (volume.operations().size() <= number) break;  // nothing was left to fail
      SCOPED_TRACE(volume.descriptions()[number]);
      EXPECT_FALSE(saved);
      EXPECT_THAT(saved.error().message, HasSubstr("No space left"));
      (void)abandon_save(volume, tiny_request(10).id());
      const std::vector<int> steps = intact_steps(*real);
      EXPECT_EQ(steps.back(), 5);
      ASSERT_TRUE(remove_unfinished(*real));
      EXPECT_TRUE(write_tiny(*real, 15));
    }
  }
}

TEST(Commit, ATokenizerGoesAlongAndIsVerifiedAsAllElse) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  const std::vector<CopiedFile> tokenizer = {{.name = "tokenizer.json", .text = "{\"a\": 1}"},
                                             {.name = "merges.txt", .text = ""}};
  SaveRequest request = tiny_request(5);
  request.tokenizer = tokenizer;
  ASSERT_TRUE(begin_save(*volume, tiny_plan(), request.id()));
  for (const int rank : {0, 1}) ASSERT_TRUE(write_tiny_rank(*volume, 5, rank));
  const Status committed = commit(*volume, tiny_plan(), request, testing::kTinyBlock);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_THAT(intact_steps(*volume), ElementsAre(5));
  EXPECT_EQ(Checkpoint::open(*volume, 5)->tokenizer().value(), tokenizer);
  EXPECT_EQ(test::contents(folder.path("step-000005/tokenizer.json")), "{\"a\": 1}");
  folder.write("step-000005/vocab.json", "{}");
  EXPECT_EQ(Checkpoint::open(*volume, 5)->tokenizer().value(), tokenizer) << "nobody has a sum of that";
  folder.write("step-000005/tokenizer.json", "{\"a\": 2}");
  auto changed = Checkpoint::open(*volume, 5).value();
  EXPECT_THAT(changed.tokenizer().error().message, HasSubstr("tokenizer.json: bytes 0 to 7 are not those"));
  EXPECT_FALSE(changed.verify());
}

TEST(Commit, NeverReplacesACheckpoint) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  ASSERT_TRUE(write_tiny(*volume, 5));
  const Status again = begin_save(*volume, tiny_plan(), {.step = 5, .attempt = 2});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("step-000005: is there already"));
  // Also when it came to be there in the meantime.
  ASSERT_TRUE(volume->make_folder(unfinished_folder(5, 2)));
  ASSERT_TRUE(write_tiny_rank(*volume, 5, 0, 2));
  ASSERT_TRUE(write_tiny_rank(*volume, 5, 1, 2));
  EXPECT_FALSE(commit(*volume, tiny_plan(), tiny_request(5, 2), testing::kTinyBlock));
  EXPECT_THAT(intact_steps(*volume), ElementsAre(5));
}

TEST(Commit, NeedsEveryRankOfThisAttempt) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  const auto committed = [&] {
    return commit(*volume, tiny_plan(), tiny_request(5, 2), testing::kTinyBlock);
  };
  ASSERT_TRUE(begin_save(*volume, tiny_plan(), {.step = 5, .attempt = 2}));
  ASSERT_TRUE(write_tiny_rank(*volume, 5, 0, 2));
  EXPECT_THAT(committed().error().message, HasSubstr("rank-1.json"));

  // A rank of the attempt before acknowledges late.
  ASSERT_TRUE(volume->make_folder(unfinished_folder(5, 1)));
  ASSERT_TRUE(write_tiny_rank(*volume, 5, 1, 1));
  ASSERT_TRUE(
      volume->rename(unfinished_folder(5, 1) + "/rank-1.json", unfinished_folder(5, 2) + "/rank-1.json"));
  EXPECT_THAT(committed().error().message, HasSubstr("is not what rank 1 of attempt 2 wrote"));
  EXPECT_TRUE(intact_steps(*volume).empty());
}

TEST(Commit, RefusesATensorThatNobodyWroteWhole) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  ASSERT_TRUE(begin_save(*volume, tiny_plan(), {.step = 5}));
  ASSERT_TRUE(write_tiny_rank(*volume, 5, 0));
  // The second rank has the first one's half too, so every element of the other half is missing.
  ASSERT_TRUE(volume->rename(unfinished_folder(5, 1) + "/rank-0.json", "first"));
  const FilePlan plan = tiny_plan();
  RankWriter empty(*volume, plan, {.step = 5}, 1, testing::kTinyBlock);
  ASSERT_TRUE(empty.finish());
  ASSERT_TRUE(volume->rename("first", unfinished_folder(5, 1) + "/rank-0.json"));
  const PlannedFile& last = plan.files().back();
  const std::byte zero[1] = {};
  for (const PlannedFile& file : plan.files())
    ASSERT_TRUE(
        volume->open_output(unfinished_folder(5, 1) + "/" + file.name).value()->write(file.length - 1, zero))
        << last.name;
  const Status committed = commit(*volume, plan, tiny_request(5), testing::kTinyBlock);
  ASSERT_FALSE(committed);
  EXPECT_THAT(committed.error().message, HasSubstr("boxes must hold each of its elements once"));
}

// And not as the files of the model.
TEST(Commit, AnAcknowledgementIsAsLongAsWhatItsRankWrote) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  planner::ModelShape model = testing::tiny_model();
  model.vocab = 20'000;
  const StateTypes types{.weights = ElementType::F32, .states = ElementType::F32, .has_master = false};
  const FilePlan plan(tensors_of(model), types, /*largest_file=*/int64_t{1} << 30);
  const SaveId id{.step = 5};
  ASSERT_TRUE(begin_save(*volume, plan, id));
  RankWriter writer(*volume, plan, id, /*rank=*/0, testing::kTinyBlock);
  const std::vector<float> row(8, 1.0F);
  ASSERT_TRUE(writer.write(StateKind::Weights, /*tensor=*/0, 10'000 * 8, std::as_bytes(std::span(row))));
  ASSERT_TRUE(writer.finish());
  const PlannedFile& written = plan.files()[plan.place(StateKind::Weights, 0).file];
  EXPECT_GT(block_count(written.length, testing::kTinyBlock), 2000);
  EXPECT_LT(volume->open_input(id.folder() + "/" + share_file(0)).value()->size(), 300);
}

TEST(Store, WhatCouldNotBeRemovedGoesWithTheNextCheckpoint) {
  const test::TemporaryFolder folder;
  const auto real = volume_in(folder);
  for (const int step : {1, 2}) ASSERT_TRUE(write_tiny(*real, step));
  FaultyVolume volume(*real);
  volume.fails_at = 2;  // behind the new name and what makes it durable
  EXPECT_FALSE(keep_newest(volume, 1, 2));
  EXPECT_THAT(volume.descriptions().at(2), HasSubstr("remove step-000001.tmp-0/"));
  EXPECT_EQ(real->names("step-000001.tmp-0").value().size(), 1u) << "one file keeps others";
  EXPECT_TRUE(keep_newest(volume, 1, 2));
  EXPECT_THAT(real->names("").value(), ElementsAre("step-000002"));
}

TEST(Store, WhatCouldNotBeRemovedOfASaveGoesWithTheNextCheckpoint) {
  const test::TemporaryFolder folder;
  const auto real = volume_in(folder);
  const SaveId id{.step = 1};
  ASSERT_TRUE(begin_save(*real, tiny_plan(), id));
  FaultyVolume volume(*real);
  volume.fails_at = 1;  // behind the new name
  EXPECT_FALSE(abandon_save(volume, id));
  ASSERT_TRUE(write_tiny(*real, 2));
  EXPECT_TRUE(keep_newest(*real, 1, 2));
  EXPECT_THAT(real->names("").value(), ElementsAre("step-000002"));
}

TEST(Store, KeepsTheNewestAndReadsNoOtherNames) {
  const test::TemporaryFolder folder;
  const auto volume = volume_in(folder);
  for (const int step : {1, 2, 3, 1000000}) ASSERT_TRUE(write_tiny(*volume, step));
  for (const char* name : {"step-7", "step-0000008", "step-000009.tmp-1", "step-000010.damaged-2",
                           "step--00001", "step-000000", "notes"})
    folder.write(std::string(name) + "/manifest.json", "{}");
  EXPECT_THAT(committed_steps(*volume).value(), ElementsAre(1000000, 3, 2, 1));
  ASSERT_TRUE(keep_newest(*volume, 2, 1000000));
  EXPECT_THAT(intact_steps(*volume), ElementsAre(1000000, 3));
  ASSERT_TRUE(set_aside(*volume, 1000000, 4));
  ASSERT_TRUE(write_tiny(*volume, 1000000));
  ASSERT_TRUE(set_aside(*volume, 1000000, 4));
  ASSERT_TRUE(remove_unfinished(*volume));
  EXPECT_THAT(
      volume->names("").value(),
      ElementsAre("notes", "step--00001", "step-000000", "step-0000008", "step-000003",
                  "step-000010.damaged-2", "step-1000000.damaged-4", "step-1000000.damaged-5", "step-7"));
}

}  // namespace
}  // namespace caravan::checkpoint
