#include "worker/trainer/comm/nccl/watchdog.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <thread>

#include "worker/trainer/comm/testing/memory_board.h"

namespace caravan::trainer {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct ScriptedOperation final : public StreamOperation {
  void wait() override {}
  bool finished() override { return is_finished; }
  std::optional<std::string> error() override { return failure; }
  bool is_finished = false;
  std::optional<std::string> failure;
};

// A device that does nothing; what is told of its operations is the test's affair.
struct ScriptedGroup final : public StreamGroup {
  int rank() const override { return 0; }
  int size() const override { return 2; }
  StartedOperation all_reduce(at::Tensor&, Reduction) override { return {}; }
  StartedOperation all_gather(at::Tensor&, const at::Tensor&) override { return {}; }
  StartedOperation reduce_scatter(at::Tensor&, const at::Tensor&) override { return {}; }
  StartedOperation broadcast(at::Tensor&, int) override { return {}; }
  StartedOperation exchange(std::vector<at::Tensor>&, std::vector<at::Tensor>&) override { return {}; }
  StartedOperation send(const at::Tensor&, int, Way) override { return {}; }
  StartedOperation receive(at::Tensor&, int, Way) override { return {}; }
  void abort() override {
    aborted = true;
    if (ends_abort) ends_abort->wait();
  }
  bool aborted = false;
  std::latch* ends_abort = nullptr;  // NCCL's may hang
};

constexpr seconds kTimeout{60};
constexpr seconds kAnswerTime{5};

struct RankUnderWatch {
  RankUnderWatch(int number, NoticeBoard& board)
      : rank(number),
        watchdog({.rank = 10 + number, .timeout = kTimeout, .answer_time = kAnswerTime}, board,
                 [this](const std::string& verdict) { heard.push_back(verdict); }) {
    watchdog.guard(group);
    watchdog.enter(lane());
  }

  Lane lane(const std::string& name = "data-0") const {
    return {.name = name, .members = {0, 1, 2}, .rank = rank};
  }
  std::shared_ptr<ScriptedOperation> issue(const std::string& words, const std::string& in = "data-0") {
    auto operation = std::make_shared<ScriptedOperation>();
    watchdog.note(lane(in), words, operation);
    return operation;
  }
  void look(Watchdog::Clock::time_point now) {
    watchdog.ask(now);
    watchdog.judge(now);
  }

  int rank;
  std::vector<std::string> heard;
  std::shared_ptr<ScriptedGroup> group = std::make_shared<ScriptedGroup>();
  Watchdog watchdog;
};

class ThreeRanks : public testing::Test {
 protected:
  void look(seconds after_start) {
    for (RankUnderWatch* rank : alive) rank->look(start + after_start);
  }
  // The looks in which an alarm is raised, answered and judged.
  void look_until_judged(seconds after_start) {
    for (int second = 0; second <= kAnswerTime.count() + 1; ++second) look(after_start + seconds(second));
  }
  std::string verdict_of(const RankUnderWatch& rank) const {
    return rank.heard.empty() ? "" : rank.heard.front();
  }

  MemoryBoard board;
  RankUnderWatch first{0, board};
  RankUnderWatch second{1, board};
  RankUnderWatch third{2, board};
  std::vector<RankUnderWatch*> alive{&first, &second, &third};
  const Watchdog::Clock::time_point start = Watchdog::Clock::now();
};

TEST_F(ThreeRanks, WhoDoesNotComeIsNamedWithWhatItDidLast) {
  for (RankUnderWatch* rank : alive) rank->issue("all-gather of 64 bytes")->is_finished = true;
  first.issue("reduce-scatter of 128 bytes");
  third.issue("reduce-scatter of 128 bytes");
  look(seconds(1));
  look_until_judged(kTimeout + seconds(2));
  EXPECT_EQ(
      verdict_of(first),
      "rank 10: operation number 2 in data-0, reduce-scatter of 128 bytes, as rank 0 of the group has not "
      "ended within 60 s: rank 1 of the group (rank 11 of the job) has not come to it: its last call there "
      "was number 1, all-gather of 64 bytes");
}

TEST_F(ThreeRanks, AllRanksHearOneVerdictAndAbort) {
  first.issue("all-reduce of 8 bytes");
  third.issue("all-reduce of 8 bytes");
  look(seconds(1));
  look_until_judged(kTimeout + seconds(2));
  for (RankUnderWatch* rank : alive) {
    EXPECT_TRUE(rank->group->aborted) << rank->rank;
    EXPECT_THAT(rank->heard, testing::ElementsAre(verdict_of(first))) << rank->rank;
    EXPECT_THROW(rank->watchdog.throw_if_lost(), CommunicationError) << rank->rank;
  }
}

TEST_F(ThreeRanks, WhoMadeNoCallAtAllIsToldFromWhoIsSilent) {
  first.issue("all-reduce of 8 bytes");
  alive = {&first, &second};
  look(seconds(1));
  look_until_judged(kTimeout + seconds(2));
  EXPECT_THAT(
      verdict_of(first),
      AllOf(
          HasSubstr("rank 1 of the group (rank 11 of the job) has not come to it: it has made no call there"),
          HasSubstr("no answer from rank 2 of the group, whose process has ended or is stuck")));
}

TEST_F(ThreeRanks, RanksThatDisagreeAreNamed) {
  first.issue("all-reduce of 8 bytes");
  second.issue("all-gather of 8 bytes");
  third.issue("all-reduce of 8 bytes");
  look(seconds(1));
  look_until_judged(kTimeout + seconds(2));
  EXPECT_THAT(verdict_of(first), HasSubstr("rank 1 of the group (rank 11 of the job) does something else, "
                                           "all-gather of 8 bytes"));
}

TEST_F(ThreeRanks, WhereAllHaveComeTheDeviceIsToBlame) {
  for (RankUnderWatch* rank : alive) rank->issue("all-reduce of 8 bytes");
  look(seconds(1));
  look_until_judged(kTimeout + seconds(2));
  EXPECT_THAT(verdict_of(first), HasSubstr("all ranks have come to it, so a device or a link"));
}

TEST_F(ThreeRanks, WhoIsMissingInALaterLaneIsNamedBeforeADeviceIsBlamed) {
  for (RankUnderWatch* rank : alive) rank->issue("all-reduce of 8 bytes");
  for (RankUnderWatch* rank : alive) rank->watchdog.enter(rank->lane("tensor-0"));
  for (RankUnderWatch* rank : {&first, &second}) rank->issue("all-gather of 16 bytes", "tensor-0");
  look(seconds(1));
  look_until_judged(kTimeout + seconds(2));
  EXPECT_EQ(verdict_of(first),
            "rank 10: operation number 1 in tensor-0, all-gather of 16 bytes, as rank 0 of the group has not "
            "ended within 60 s: rank 2 of the group (rank 12 of the job) has not come to it: it has made no "
            "call there; all have come to operation number 1 in data-0, all-reduce of 8 bytes, which has not "
            "ended within 60 s");
}

TEST_F(ThreeRanks, WhatEndsBetweenAlarmAndJudgementIsNotToBlame) {
  for (RankUnderWatch* rank : alive) rank->issue("all-reduce of 8 bytes");
  for (RankUnderWatch* rank : alive) rank->watchdog.enter(rank->lane("tensor-0"));
  const auto late = first.issue("all-gather of 16 bytes", "tensor-0");
  look(seconds(1));
  look(kTimeout + seconds(2));
  late->is_finished = true;
  look_until_judged(kTimeout + seconds(3));
  EXPECT_THAT(verdict_of(first), AllOf(HasSubstr("operation number 1 in data-0"),
                                       HasSubstr("all ranks have come to it, so a device or a link")));
}

TEST_F(ThreeRanks, AnOperationThatEndsInTimeIsNoAlarm) {
  const auto operation = first.issue("all-reduce of 8 bytes");
  look(kTimeout - seconds(1));
  operation->is_finished = true;
  look_until_judged(kTimeout + seconds(2));
  EXPECT_THAT(first.heard, IsEmpty());
  EXPECT_EQ(board.find("alarm"), std::nullopt);
}

TEST_F(ThreeRanks, AnOperationBehindALongOneHasATimeOfItsOwn) {
  const auto before = first.issue("all-reduce of 8 bytes");
  first.issue("all-gather of 8 bytes");
  look(kTimeout - seconds(1));
  before->is_finished = true;
  look(kTimeout - seconds(1));
  look(2 * kTimeout - seconds(3));
  EXPECT_EQ(board.find("alarm"), std::nullopt);
  look(2 * kTimeout);
  EXPECT_THAT(board.find("alarm"), testing::Optional(HasSubstr("number 2 in data-0, all-gather of 8 bytes")));
}

TEST_F(ThreeRanks, AFailureIsAVerdictAtOnce) {
  const auto operation = second.issue("all-reduce of 8 bytes");
  operation->is_finished = true;
  operation->failure = "remote process exited";
  look(seconds(1));
  look(seconds(2));
  for (const RankUnderWatch* rank : alive) {
    EXPECT_THAT(verdict_of(*rank), AllOf(HasSubstr("rank 11: operation number 1 in data-0"),
                                         HasSubstr("failed: remote process exited")));
  }
}

TEST_F(ThreeRanks, ALostBoardIsAVerdict) {
  board.unreachable = true;
  look(seconds(1));
  EXPECT_THAT(verdict_of(first),
              HasSubstr("the board of the ranks cannot be reached: connection reset by peer"));
  EXPECT_TRUE(first.group->aborted);
}

// The first one serves the board, and ends with it.
TEST_F(ThreeRanks, WhoHasStoppedMissesNobody) {
  second.watchdog.stop();
  board.unreachable = true;
  look(seconds(1));
  EXPECT_THAT(second.heard, IsEmpty());
  EXPECT_FALSE(second.group->aborted);
  EXPECT_NO_THROW(second.watchdog.throw_if_lost());
  EXPECT_THAT(third.heard, testing::SizeIs(1)) << "it had not stopped";
}

TEST_F(ThreeRanks, AJudgementThatIsUnderWayWhenItStopsComesToNoVerdict) {
  struct LastBoard final : public NoticeBoard {
    void put(const std::string&, const std::string&) override {}
    std::optional<std::string> find(const std::string&) override {
      watchdog->stop();
      throw CommunicationError("connection reset by peer");
    }
    Watchdog* watchdog = nullptr;
  } last_board;
  RankUnderWatch rank(3, last_board);
  last_board.watchdog = &rank.watchdog;
  rank.look(start);
  EXPECT_THAT(rank.heard, IsEmpty());
}

TEST_F(ThreeRanks, AVerdictIsHeardThoughTheAbortHangs) {
  std::latch heard(1), ends_abort(1);
  const auto group = std::make_shared<ScriptedGroup>();
  group->ends_abort = &ends_abort;
  Watchdog watchdog({.rank = 13, .timeout = kTimeout, .answer_time = kAnswerTime}, board,
                    [&](const std::string&) { heard.count_down(); });
  watchdog.guard(group);
  board.unreachable = true;
  std::jthread judges([&] { watchdog.judge(start); });
  heard.wait();
  ends_abort.count_down();
}

// A device that answers no question before the test lets it.
class ThreeRanksOneOfASilentDevice : public ThreeRanks {
 protected:
  struct UnansweredOperation final : public StreamOperation {
    UnansweredOperation(std::latch& is_asked, std::latch& may_answer)
        : asked(is_asked), answers(may_answer) {}
    void wait() override {}
    bool finished() override {
      asked.count_down();
      answers.wait();
      return true;
    }
    std::optional<std::string> error() override { return std::nullopt; }

    std::latch& asked;
    std::latch& answers;
  };

  ThreeRanksOneOfASilentDevice() {
    first.watchdog.note(first.lane(), "all-gather of 64 bytes",
                        std::make_shared<UnansweredOperation>(asked_, answers_));
    asks_ = std::jthread([this] { first.watchdog.ask([this] { return now_; }); });
    asked_.wait();
  }
  ~ThreeRanksOneOfASilentDevice() override {
    if (asks_.joinable()) answers_.count_down();
  }

  // Of the others no operation is overdue then.
  void tell_positions_of_the_others() {
    for (RankUnderWatch* rank : {&second, &third}) rank->look(start + seconds(1));
  }
  void judge(seconds after_start) { first.watchdog.judge(start + after_start); }
  void answer(seconds after_start) {
    now_ = start + after_start;
    answers_.count_down();
    asks_.join();
  }

 private:
  std::latch asked_{1}, answers_{1};
  Watchdog::Clock::time_point now_ = start;
  std::jthread asks_;
};

TEST_F(ThreeRanksOneOfASilentDevice, AVerdictIsHeardAndNotesAreTaken) {
  first.issue("all-gather of 8 bytes");
  judge(seconds(1));
  EXPECT_THAT(first.heard, IsEmpty());
  second.issue("all-gather of 8 bytes")->failure = "a link is down";
  second.look(start + seconds(2));
  judge(seconds(3));
  EXPECT_THAT(verdict_of(first), HasSubstr("rank 11: operation number 1 in data-0"));
  EXPECT_TRUE(first.group->aborted);
}

TEST_F(ThreeRanksOneOfASilentDevice, SilenceIsAnAlarmAndWhoIsMissingIsNamed) {
  for (RankUnderWatch* rank : {&second, &third}) rank->issue("all-gather of 64 bytes");
  for (RankUnderWatch* rank : {&first, &third}) rank->issue("all-reduce of 8 bytes");
  judge(kTimeout + 2 * kAnswerTime - seconds(1));
  EXPECT_EQ(board.find("alarm"), std::nullopt) << "others, whose devices answer, may know more";
  judge(kTimeout + 2 * kAnswerTime);
  EXPECT_THAT(board.find("alarm"), testing::Optional(HasSubstr("rank 10: its device has answered nothing")));
  tell_positions_of_the_others();
  judge(kTimeout + 3 * kAnswerTime);
  EXPECT_EQ(verdict_of(first),
            "rank 10: its device has answered nothing for 70 s, as while a call of CUDA waits for it; "
            "operation number "
            "2 in data-0, all-reduce of 8 bytes, as rank 0 of the group: rank 1 of the group (rank 11 of the "
            "job) has "
            "not come to it: its last call there was number 1, all-gather of 64 bytes");
  second.look(start + seconds(2));
  EXPECT_THAT(second.heard, testing::ElementsAre(verdict_of(first)));
}

TEST_F(ThreeRanksOneOfASilentDevice, NoOtherRankIsToBlameWhereAllHaveCome) {
  for (RankUnderWatch* rank : {&second, &third}) rank->issue("all-gather of 64 bytes");
  judge(kTimeout + 2 * kAnswerTime);
  tell_positions_of_the_others();
  judge(kTimeout + 3 * kAnswerTime);
  EXPECT_THAT(verdict_of(first), HasSubstr("all ranks have come to what it was given last"));
}

TEST_F(ThreeRanksOneOfASilentDevice, WhatBecomesTheFirstMeanwhileHasATimeOfItsOwn) {
  first.issue("all-gather of 8 bytes");
  answer(kTimeout - seconds(1));
  first.look(start + kTimeout + seconds(1));
  EXPECT_EQ(board.find("alarm"), std::nullopt);
  first.look(start + 2 * kTimeout);
  EXPECT_THAT(board.find("alarm"), testing::Optional(HasSubstr("number 2 in data-0, all-gather of 8 bytes")));
}

TEST_F(ThreeRanks, ThreadsAskAndJudgeByThemselves) {
  first.issue("all-reduce of 8 bytes")->failure = "a link is down";
  first.watchdog.start(std::chrono::milliseconds(1));
  while (!first.group->aborted || first.heard.empty()) std::this_thread::yield();
  EXPECT_THAT(verdict_of(first), HasSubstr("a link is down"));
}

TEST(PositionText, IsReadAsItWasWritten) {
  const LanePosition position{.issued = 7, .last = "tag 3 of 64 bytes: odd world-rank 5"};
  const auto read = read_position(position_text(position, 12));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->position, position);
  EXPECT_EQ(read->world_rank, 12);
  for (const char* other : {"", "7", "7 world-rank ", "x world-rank 1: a", "7 world-rank y: a"})
    EXPECT_FALSE(read_position(other)) << other;
}

}  // namespace
}  // namespace caravan::trainer
