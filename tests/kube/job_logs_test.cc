// The log of a job's node, read from a server whose streams break and whose pods change with the attempts.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/serialize.hpp>

#include "tests/kube/connect_cluster.h"

namespace caravan::kube::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string line(int second, const std::string& text) {
  return "2026-01-01T00:00:0" + std::to_string(second) + ".000000000Z " + text + "\n";
}

JsonObject pod_of_attempt(int attempt, const std::string& phase) {
  const std::string number = std::to_string(attempt);
  return {{"metadata", JsonObject{{"name", "tiny-0-a" + number},
                                  {"namespace", "s"},
                                  {"labels", JsonObject{{"training.caravan.dev/node-index", "0"},
                                                        {"training.caravan.dev/attempt", number}}}}},
          {"status", JsonObject{{"phase", phase}}}};
}

// A job of two attempts: the first one's stream breaks in the middle, the second one ends with the job.
class TwoAttempts {
 public:
  void answer(Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/llamatrainingjobs/tiny")) return exchange.reply(200, job());
    if (path.ends_with("/pods")) return exchange.reply(200, pods());
    if (path.ends_with("/tiny-0-a1/log")) return first(exchange);
    if (path.ends_with("/tiny-0-a2/log")) return second(exchange);
    exchange.reply(404, status_json(404, "NotFound"));
  }

 private:
  std::string job() const {
    const JsonObject complete{{"type", "Complete"}, {"status", "True"}, {"reason", "StepsReached"}};
    JsonObject status{{"state", "Running"}};
    if (second_is_read_) status["conditions"] = JsonArray{complete};
    return boost::json::serialize(JsonObject{
        {"metadata", JsonObject{{"name", "tiny"}, {"namespace", "s"}, {"uid", "u"}}}, {"status", status}});
  }

  std::string pods() const {
    JsonArray items;
    if (first_reads_ < 2) {
      items.push_back(pod_of_attempt(1, "Running"));
    } else {
      items.push_back(pod_of_attempt(2, second_is_read_ ? "Succeeded" : "Running"));
    }
    return boost::json::serialize(
        JsonObject{{"kind", "PodList"}, {"metadata", JsonObject{}}, {"items", std::move(items)}});
  }

  void first(Exchange& exchange) {
    exchange.begin_stream();
    if (first_reads_++ == 0) {
      exchange.chunk(line(1, "one"));
      exchange.chunk(line(2, "two"));
      exchange.drop();
    }
    EXPECT_THAT(exchange.request().query, HasSubstr("sinceTime=2026-01-01T00%3A00%3A02Z"));
    exchange.chunk(line(2, "two"));  // the server's times to begin at are whole seconds
    exchange.chunk(line(3, "three"));
    exchange.end_stream();
  }

  void second(Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk(line(4, "four"));
    second_is_read_ = true;
    exchange.end_stream();
  }

  std::atomic<int> first_reads_ = 0;
  std::atomic<bool> second_is_read_ = false;
};

class JobLogs : public ::testing::Test {
 protected:
  std::unique_ptr<cli::Cluster> connect(const FaultServer& server) {
    return connect_cluster(server, folder_);
  }

  const test::TemporaryFolder folder_;
  std::vector<std::string> lines_;
  const std::function<void(std::string_view)> take_ = [this](std::string_view text) {
    lines_.emplace_back(text);
  };
};

TEST_F(JobLogs, AreFollowedThroughBrokenStreamsAndRestartsEachLineOnce) {
  TwoAttempts job;
  const FaultServer server([&](Exchange& exchange) { job.answer(exchange); });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  const Status read = cluster->read_log({.job = "tiny", .follow = true}, take_);
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_THAT(lines_, ElementsAre("one", "two", "three", "four"));
}

// A job that has ended, with one pod whose log is `answer`'s.
Script ended_job(Script answer) {
  return [answer = std::move(answer)](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/log")) return answer(exchange);
    if (path.ends_with("/pods"))
      return exchange.reply(
          200, boost::json::serialize(
                   JsonObject{{"kind", "PodList"}, {"items", JsonArray{pod_of_attempt(1, "Succeeded")}}}));
    exchange.reply(200, R"({"metadata": {"name": "tiny", "namespace": "s", "uid": "u"},
        "status": {"conditions": [{"type": "Complete", "status": "True", "reason": "StepsReached"}]}})");
  };
}

TEST_F(JobLogs, AreGoneOnWithAfterAMachineOrTheServerCouldNotAnswer) {
  TwoAttempts job;
  std::atomic<int> logs = 0;
  std::atomic<int> jobs = 0;
  const FaultServer server([&](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    const bool fails = path.ends_with("/log") ? logs++ == 0 : path.ends_with("/tiny") && jobs++ == 1;
    if (fails) return exchange.reply(500, status_json(500, "InternalError", "no kubelet there"));
    job.answer(exchange);
  });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  const Status read = cluster->read_log({.job = "tiny", .follow = true}, take_);
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_THAT(lines_, ElementsAre("one", "two", "three", "four"));
}

TEST_F(JobLogs, OfAJobThatHasEndedCannotBeWaitedFor) {
  const FaultServer server(ended_job(reply_with(500, status_json(500, "InternalError", "no kubelet there"))));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  const Status read = cluster->read_log({.job = "tiny", .follow = true}, take_);
  ASSERT_FALSE(read) << "nothing was read";
  EXPECT_THAT(read.error().message, HasSubstr("no kubelet there"));
}

TEST_F(JobLogs, OfAJobThatHasEndedAndWhosePodsAreGoneAreSaidToBeGone) {
  const FaultServer server([](Exchange& exchange) {
    if (exchange.request().path.ends_with("/pods"))
      return exchange.reply(200, R"({"kind": "PodList", "items": []})");
    exchange.reply(200, R"({"metadata": {"name": "tiny", "namespace": "s", "uid": "u"}, "status":
        {"state": "Complete", "conditions": [{"type": "Complete", "status": "True", "reason": "StepsReached"}]}})");
  });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  for (const bool follow : {false, true}) {
    const Status read = cluster->read_log({.job = "tiny", .follow = follow}, take_);
    ASSERT_FALSE(read) << (follow ? "followed" : "read once");
    EXPECT_THAT(read.error().message, HasSubstr("job tiny has no pod of node 0 now; it is Complete"));
  }
}

TEST_F(JobLogs, AreAskedOfTheNodesOwnPods) {
  const FaultServer server(ended_job(reply_with(200, line(1, "one"))));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  EXPECT_TRUE(cluster->read_log({.job = "tiny"}, take_));
  EXPECT_THAT(server.requests().at(1).query, HasSubstr("training.caravan.dev%2Fnode-index%3D0"));
}

TEST_F(JobLogs, TheLastLinesOfARankAreCountedAmongItsOwn) {
  std::string log;
  for (int i = 1; i <= 3; ++i) {
    log += line(i, fmt::format("T info agent-0: rank 0: mine {}", i));
    log += line(i, fmt::format("T info agent-0: rank 1: other {}", i));
  }
  const FaultServer server(ended_job([&](Exchange& exchange) {
    EXPECT_THAT(exchange.request().query, ::testing::Not(HasSubstr("tailLines")));
    exchange.reply(200, exchange.request().query.find("sinceTime") == std::string::npos ? log : line(4, ""));
  }));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  for (const bool follow : {false, true}) {
    lines_.clear();
    EXPECT_TRUE(cluster->read_log({.job = "tiny", .rank = 0, .tail = 2, .follow = follow}, take_));
    EXPECT_THAT(lines_, ElementsAre("mine 2", "mine 3")) << (follow ? "followed" : "read once");
  }
}

TEST_F(JobLogs, OfARankAreFollowedBehindItsLastLines) {
  std::atomic<bool> is_over = false;
  const FaultServer server([&](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/pods"))
      return exchange.reply(
          200, boost::json::serialize(
                   JsonObject{{"kind", "PodList"},
                              {"items", JsonArray{pod_of_attempt(1, is_over ? "Succeeded" : "Running")}}}));
    if (!path.ends_with("/log"))
      return exchange.reply(
          200, fmt::format(R"({{"metadata": {{"name": "tiny", "namespace": "s", "uid": "u"}}, "status":
          {{"conditions": [{{"type": "Complete", "status": "{}", "reason": "StepsReached"}}]}}}})",
                           is_over ? "True" : "False"));
    const bool follows = exchange.request().query.find("follow=true") != std::string::npos;
    const auto of_rank = [](int second) {
      return line(second, fmt::format("T info agent-0: rank 0: {}", second));
    };
    if (!follows) return exchange.reply(200, of_rank(1) + of_rank(2) + of_rank(3));
    if (!is_over.exchange(true)) {
      EXPECT_THAT(exchange.request().query, HasSubstr("sinceTime=2026-01-01T00%3A00%3A03Z"));
    }
    exchange.reply(200, of_rank(3) + of_rank(4));
  });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  EXPECT_TRUE(cluster->read_log({.job = "tiny", .rank = 0, .tail = 1, .follow = true}, take_));
  EXPECT_THAT(lines_, ElementsAre("3", "4"));
}

TEST_F(JobLogs, OfSomebodyWithoutTheRightEndAtOnce) {
  const FaultServer server([](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/log"))
      return exchange.reply(
          403, status_json(403, "Forbidden", "pods/log is forbidden: User eve cannot get resource"));
    if (path.ends_with("/pods"))
      return exchange.reply(
          200, boost::json::serialize(
                   JsonObject{{"kind", "PodList"}, {"items", JsonArray{pod_of_attempt(1, "Running")}}}));
    exchange.reply(200, R"({"metadata": {"name": "tiny", "namespace": "s", "uid": "u"}})");
  });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  const Status read = cluster->read_log({.job = "tiny", .follow = true}, take_);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("the right to get pods/log in namespace s"));
}

}  // namespace
}  // namespace caravan::kube::testing
