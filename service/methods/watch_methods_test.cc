// How long a stream of WatchJobs lasts.
#include "service/methods/watch_methods.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/testing/await.h"
#include "service/testing/review_server.h"

namespace caravan::service {
namespace {

using namespace std::chrono_literals;
using caravan::test::await;

class WatchMethodsTest : public ::testing::Test {
 protected:
  struct Stream {
    std::shared_ptr<JobWatch> watch;
    std::shared_ptr<std::atomic<int>> end = std::make_shared<std::atomic<int>>(0);  // the code, once there is

    bool ended_with(Code code) const { return *end == static_cast<int>(code); }
  };

  ~WatchMethodsTest() override { api_.server.release(); }

  // With his name as his token.
  Stream open(const std::string& user) {
    api_.server.know(user, user);
    for (const char* verb : {"list", "watch"}) api_.server.allow(user + " " + verb + " team");
    v1alpha1::WatchJobsRequest request;
    request.set_parent("namespaces/team");
    Stream stream;
    auto watch = methods_.watch_jobs(
        {.caller = {.user = user, .token = user}}, request, [] {},
        [end = stream.end](const Fault& fault) { *end = static_cast<int>(fault.code); });
    EXPECT_TRUE(watch.has_value()) << watch.error().message;
    stream.watch = watch.value_or(nullptr);
    return stream;
  }
  void let_a_round_pass() {
    api_.clock.await_sleeper(10s);
    api_.clock.advance(10s);
  }
  // A round asks nobody whose review before is under way: then comes another, not all at once.
  void let_rounds_pass_until_asked() {
    const int before = api_.server.questions();
    const auto is_asked = [&] { return api_.server.questions() > before; };
    while (!is_asked()) {
      let_a_round_pass();
      const auto busy_until = std::chrono::steady_clock::now() + 2s;
      await([&] { return is_asked() || std::chrono::steady_clock::now() >= busy_until; });
    }
  }
  // The last one to its end.
  void let_rounds_pass(int count) {
    for (int round = 1; round <= count; ++round) let_a_round_pass();
    api_.clock.await_sleeper(10s);
  }

  testing::ReviewedService api_;
  JobFeed jobs_{[] { return JobFeed::Versions{"1", "1"}; }, "team"};
  Callers callers_{api_.client, api_.clock, {"caravan"}};
  Rights rights_{api_.client, api_.clock};
  WatchMethods methods_{jobs_, callers_, rights_, api_.clock, [] { return true; }, {}};
};

TEST_F(WatchMethodsTest, AReviewThatTakesLongHoldsUpNoOther) {
  std::vector<Stream> slow;
  for (const char* user : {"a", "b", "c"}) {
    api_.server.hold(user);
    slow.push_back(open(user));
  }
  std::vector<Stream> streams;
  for (int i = 0; i < 100; ++i) streams.push_back(open("user-" + std::to_string(i)));
  for (int i = 0; i < 100; ++i) api_.server.forbid("user-" + std::to_string(i) + " watch team");
  let_a_round_pass();
  for (const Stream& stream : streams) await([&] { return stream.ended_with(Code::kPermissionDenied); });
  for (const Stream& stream : slow) EXPECT_EQ(*stream.end, 0);
}

TEST_F(WatchMethodsTest, AllStreamsOfACallerEndWithHisRight) {
  const std::vector<Stream> streams{open("ada"), open("ada"), open("ada")};
  const Stream other = open("bob");
  api_.server.forget("ada");
  let_a_round_pass();
  for (const Stream& stream : streams) await([&] { return stream.ended_with(Code::kUnauthenticated); });
  EXPECT_EQ(*other.end, 0);
}

TEST_F(WatchMethodsTest, WithoutAnApiServerAStreamGoesOnForAMinute) {
  const Stream stream = open("ada");
  api_.server.go_away();
  let_rounds_pass(6);
  EXPECT_EQ(*stream.end, 0) << "nobody was asked before the first of them";
  await([&] {
    let_a_round_pass();
    return stream.ended_with(Code::kUnavailable);
  });
}

TEST_F(WatchMethodsTest, AnApiServerThatComesBackIsWaitedForAnewTheNextTime) {
  const Stream stream = open("ada");
  api_.server.go_away();
  let_rounds_pass_until_asked();
  api_.server.come_back();
  // Of her token and of her right: with the third question the review that went well is over.
  for (int question = 1; question <= 3; ++question) let_rounds_pass_until_asked();
  api_.server.go_away();
  let_rounds_pass(3);
  EXPECT_EQ(*stream.end, 0);
}

TEST_F(WatchMethodsTest, AReviewThatHasToWaitForOthersEndsNoStream) {
  std::vector<Stream> streams{open("waits")};
  api_.server.go_away();
  let_rounds_pass_until_asked();  // in vain, once
  api_.server.come_back();
  for (int i = 0; i < 20; ++i) {  // more than are reviewed at once
    api_.server.hold("slow-" + std::to_string(i));
    streams.push_back(open("slow-" + std::to_string(i)));
  }
  let_rounds_pass(10);
  for (const Stream& stream : streams) EXPECT_EQ(*stream.end, 0);
}

}  // namespace
}  // namespace caravan::service
