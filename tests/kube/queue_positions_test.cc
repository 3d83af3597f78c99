// What jobs hear of their places while Kueue's visibility server is asked, and when it fails.
#include "operator/queue_positions.h"

#include <future>
#include <latch>

#include "tests/kube/scripted_client.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using kube::testing::in_turn;
using kube::testing::reply_with;
using kube::testing::status_json;

constexpr char kPlaces[] = R"({"items": [{"metadata": {"name": "ltj-a"}, "positionInLocalQueue": 4}]})";

class QueuePositionsTest : public kube::testing::ScriptedClientTest {};

TEST_F(QueuePositionsTest, WhoAsksWhileAnotherDoesMayBeToldLater) {
  std::latch asked(1);
  std::latch answers(1);
  serve([&](kube::testing::Exchange& exchange) {
    asked.count_down();
    answers.wait();
    exchange.reply(200, kPlaces);
  });
  QueuePositions positions(*client_, clock_);
  auto first = std::async(std::launch::async, [&] { return positions.find({}, "team", "lq", "ltj-a"); });
  asked.wait();
  const auto second = positions.find({}, "team", "lq", "ltj-b");
  EXPECT_FALSE(second.is_told);
  EXPECT_TRUE(second.may_be_told) << "it would never ask again";
  answers.count_down();
  EXPECT_EQ(first.get().position, 4);
}

TEST_F(QueuePositionsTest, PlacesStandForAWhileWhenTheServerFails) {
  serve(in_turn({reply_with(200, kPlaces), reply_with(422, status_json(422, "Invalid"))}));
  QueuePositions positions(*client_, clock_);
  EXPECT_EQ(positions.find({}, "team", "lq", "ltj-a").position, 4);
  clock_.advance(16s);
  EXPECT_EQ(positions.find({}, "team", "lq", "ltj-a").position, 4);
  EXPECT_EQ(requests("GET"), 2);
  clock_.advance(5min);
  const auto later = positions.find({}, "team", "lq", "ltj-a");
  EXPECT_FALSE(later.is_told);
  EXPECT_TRUE(later.may_be_told);
}

TEST_F(QueuePositionsTest, AServerThatFailsIsAskedForOneQueueAlone) {
  serve(in_turn({reply_with(200, kPlaces), reply_with(422, status_json(422, "Invalid"))}));
  QueuePositions positions(*client_, clock_);
  EXPECT_EQ(positions.find({}, "team", "lq", "ltj-a").position, 4);
  for (const char* name_space : {"second", "third", "fourth"}) {
    const auto answer = positions.find({}, name_space, "lq", "ltj-b");
    EXPECT_FALSE(answer.is_told);
    EXPECT_TRUE(answer.may_be_told);
  }
  clock_.advance(16s);
  EXPECT_EQ(positions.find({}, "team", "lq", "ltj-a").position, 4) << "what was told stands";
  EXPECT_EQ(requests("GET"), 2);
}

TEST_F(QueuePositionsTest, OneQueueFindsOutWhetherAServerThatFailedAnswersAgain) {
  std::latch asked(1);
  std::latch answers(1);
  const auto answer_late = [&](kube::testing::Exchange& exchange) {
    asked.count_down();
    answers.wait();
    exchange.reply(200, kPlaces);
  };
  serve(in_turn({reply_with(422, status_json(422, "Invalid")), answer_late, reply_with(200, kPlaces)}));
  QueuePositions positions(*client_, clock_);
  EXPECT_FALSE(positions.find({}, "team", "lq", "ltj-a").is_told);
  clock_.advance(60s);
  auto first = std::async(std::launch::async, [&] { return positions.find({}, "team", "lq", "ltj-a"); });
  asked.wait();
  EXPECT_FALSE(positions.find({}, "second", "lq", "ltj-b").is_told);
  EXPECT_EQ(requests("GET"), 2) << "each that asks may wait in vain";
  answers.count_down();
  EXPECT_EQ(first.get().position, 4);
  EXPECT_TRUE(positions.find({}, "third", "lq", "ltj-a").is_told) << "it answers";
}

TEST_F(QueuePositionsTest, AClusterWithoutThatServerHasNoPlaces) {
  serve(reply_with(404, status_json(404, "NotFound")));
  QueuePositions positions(*client_, clock_);
  EXPECT_FALSE(positions.find({}, "team", "lq", "ltj-a").may_be_told);
}

}  // namespace
}  // namespace caravan::controller::testing
