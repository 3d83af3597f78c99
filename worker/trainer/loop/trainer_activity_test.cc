// What a rank that trains on a device shows to whoever asks what it does.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/testing/temporary_folder.h"
#include "common/unique_fd.h"
#include "data/testing/token_files.h"
#include "worker/trainer/comm/testing/recorded_groups.h"
#include "worker/trainer/loop/testing/tiny_options.h"
#include "worker/trainer/loop/trainer.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

using Operations = std::set<std::string>;

// Looks at the board at every mark, which stands where the rank ends what it has shown.
class Onlooker final : public DeviceMarks {
 public:
  explicit Onlooker(const ActivityBoard& board) : board_(board) {}

  std::shared_ptr<const DeviceMark> mark() override {
    if (const std::string operation = board_.shown().operation; !operation.empty()) waits_.insert(operation);
    return device_.mark();
  }
  double seconds_between(const DeviceMark& first, const DeviceMark& second) override {
    return device_.seconds_between(first, second);
  }
  const Operations& waits() const { return waits_; }

 private:
  const ActivityBoard& board_;
  ScriptedDevice device_;
  Operations waits_;
};

class TrainerActivity : public testing::Test {
 protected:
  // What each rank was seen to wait for others in.
  std::vector<Operations> train(int ranks) const {
    std::vector<Operations> waits(static_cast<std::size_t>(ranks));
    RecordedGroups groups;
    std::vector<std::jthread> threads;
    for (int number = 0; number < ranks; ++number) {
      threads.emplace_back([&, number] {
        TrainerOptions options = tiny_options(folder_.path("states"), {.data = ranks}, number);
        options.steps = 2;
        options.data.path = tokens_;
        options.checkpoint.path = {};  // none is written
        waits[static_cast<std::size_t>(number)] = train_rank(options, groups.factory());
      });
    }
    threads.clear();
    return waits;
  }

 private:
  static Operations train_rank(const TrainerOptions& options, const GroupFactory& groups) {
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const Reporter reporter(nowhere.get());
    ActivityBoard board;
    Onlooker device(board);
    MemoryLedger ledger;
    const CommandListener commands(/*fd=*/-1, board, reporter);
    Rank rank(options, ledger, board, groups, {.marks = &device});
    const Outcome trained = Trainer(rank, open_data(options).value(), reporter, commands).train();
    EXPECT_TRUE(trained) << trained.error().message;
    return device.waits();
  }

  const test::TemporaryFolder folder_;
  const std::string tokens_ =
      folder_.write("train.bin", data::llm_c_file(std::vector<uint16_t>(100)).bytes());
};

TEST_F(TrainerActivity, WhoWaitsForADeviceThatWaitsForOthersSaysSo) {
  for (const Operations& waits : train(2)) {
    EXPECT_THAT(waits, testing::Contains("all_gather"));
    EXPECT_THAT(waits, testing::Contains("synchronize"));
  }
}

TEST_F(TrainerActivity, ARankThatIsAloneWaitsForNobody) {
  EXPECT_THAT(train(1), testing::ElementsAre(testing::IsEmpty()));
}

}  // namespace
}  // namespace caravan::trainer
