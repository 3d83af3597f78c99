// What an operator tells of its copies of what Kueue knows.
#include "operator/queue_watch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <latch>

#include "operator/job_watch.h"
#include "tests/kube/scripted_client.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using kube::testing::await;
using kube::testing::Exchange;

constexpr char kNothing[] = R"({"metadata": {"resourceVersion": "1"}, "items": []})";
constexpr char kOneWorkload[] = R"({"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {
  "name": "ltj-train", "namespace": "team", "uid": "w", "resourceVersion": "1",
  "ownerReferences": [{"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
                       "name": "train", "uid": "u", "controller": true}]}}]})";

class QueueWatchTest : public kube::testing::ScriptedClientTest {
 protected:
  QueueWatchTest() {
    serve([](Exchange& exchange) {
      if (exchange.request().query.find("watch=") != std::string::npos) {
        exchange.begin_stream();
        exchange.hang();
      }
      exchange.reply(200, exchange.request().path.ends_with("/workloads") ? kOneWorkload : kNothing);
    });
  }
};

TEST_F(QueueWatchTest, TellsOfItsCachesWithTheOthersOnceKueueIsServed) {
  JobWatch jobs(*client_, clock_, recorder_, {});
  jobs.start();
  await([&] { return jobs.cache_states().size() == 7; });
  jobs.start_queues();
  await([&] { return jobs.cache_states().size() == 11; });
  const std::vector<CacheState> states = jobs.cache_states();
  for (const char* plural : {"llamatrainingjobs", "workloads", "resourceflavors", "priorityclasses"})
    EXPECT_NE(std::ranges::find(states, plural, &CacheState::plural), states.end()) << plural;
}

TEST_F(QueueWatchTest, ACacheWhoseThreadHangsIsStuck) {
  std::latch hangs(1);
  std::latch goes_on(1);
  const auto hang = [&](const kube::Change&) {
    hangs.count_down();
    goes_on.wait();
  };
  QueueWatch queues(*client_, clock_, recorder_, "", {.on_workload = hang, .on_change = [] {}});
  EXPECT_EQ(queues.stuck_for(), 0s) << "nobody watches yet";
  queues.start();
  hangs.wait();
  clock_.advance(1h);
  EXPECT_EQ(queues.stuck_for(), 1h);
  goes_on.count_down();
}

}  // namespace
}  // namespace caravan::controller::testing
