// The log of a job's node, read from a server whose streams break and whose pods change with the attempts.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <boost/json/serialize.hpp>

#include "cli/cluster/log_printer.h"
#include "tests/kube/connect_cluster.h"

namespace caravan::kube::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string line(int second, const std::string& text) {
  return "2026-01-01T00:00:0" + std::to_string(second) + ".000000000Z " + text + "\n";
}

JsonObject pod_of_attempt(int attempt, const std::string& phase, int node = 0) {
  const std::string number = std::to_string(attempt);
  return {
      {"metadata", JsonObject{{"name", fmt::format("tiny-{}-a{}", node, attempt)},
                              {"namespace", "s"},
                              {"labels", JsonObject{{"training.caravan.dev/node-index", std::to_string(node)},
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
    EXPECT_THAT(exchange.request().query, HasSubstr("sinceTime=2025-12-31T23%3A59%3A02Z"));
    exchange.chunk(line(1, "one") + line(2, "two") + line(3, "three"));
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

// A job with one pod whose log is `answer`'s; both have ended once it is over.
Script job_of_one_pod(const std::atomic<bool>& is_over, Script answer) {
  return [&is_over, answer = std::move(answer)](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/log")) return answer(exchange);
    if (path.ends_with("/pods"))
      return exchange.reply(
          200, boost::json::serialize(
                   JsonObject{{"kind", "PodList"},
                              {"items", JsonArray{pod_of_attempt(1, is_over ? "Succeeded" : "Running")}}}));
    exchange.reply(200,
                   fmt::format(R"({{"metadata": {{"name": "tiny", "namespace": "s", "uid": "u"}}, "status":
        {{"conditions": [{{"type": "Complete", "status": "{}", "reason": "StepsReached"}}]}}}})",
                               is_over ? "True" : "False"));
  };
}

Script ended_job(Script answer) {
  static const std::atomic<bool> is_over = true;
  return job_of_one_pod(is_over, std::move(answer));
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

TEST_F(JobLogs, OfAPodThatHasEndedAreReadOnceThoughTheJobGoesOn) {
  std::atomic<int> looks = 0;
  std::atomic<int> reads = 0;
  const FaultServer server([&](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    if (path.ends_with("/log")) {
      ++reads;
      return exchange.reply(200, line(1, "one"));
    }
    if (path.ends_with("/pods"))
      return exchange.reply(
          200, boost::json::serialize(
                   JsonObject{{"kind", "PodList"}, {"items", JsonArray{pod_of_attempt(1, "Failed")}}}));
    exchange.reply(200,
                   fmt::format(R"({{"metadata": {{"name": "tiny", "namespace": "s", "uid": "u"}}, "status":
        {{"conditions": [{{"type": "Failed", "status": "{}", "reason": "DoesNotFit"}}]}}}})",
                               ++looks > 2 ? "True" : "False"));
  });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  const Status read = cluster->read_log({.job = "tiny", .follow = true}, take_);
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_THAT(lines_, ElementsAre("one"));
  EXPECT_EQ(reads, 1);
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
    EXPECT_THAT(exchange.request().query, Not(HasSubstr("tailLines")));
    exchange.reply(200, log);
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
  const FaultServer server(job_of_one_pod(is_over, [&](Exchange& exchange) {
    const std::string& query = exchange.request().query;
    const auto of_rank = [](int second) {
      return line(second, fmt::format("T info agent-0: rank 0: {}", second));
    };
    const std::string at_first = of_rank(1) + of_rank(2) + of_rank(3);
    if (query.find("follow=true") == std::string::npos) return exchange.reply(200, at_first);
    if (!is_over.exchange(true)) {
      EXPECT_THAT(query, HasSubstr("sinceTime=2025-12-31T23%3A59%3A02Z"));
    }
    exchange.reply(200, at_first + of_rank(4));
  }));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  EXPECT_TRUE(cluster->read_log({.job = "tiny", .rank = 0, .tail = 1, .follow = true}, take_));
  EXPECT_THAT(lines_, ElementsAre("3", "4"));
}

// What has come is read; then the stream breaks, and the job ends with this log.
Script breaks_once(std::atomic<bool>& is_over, const std::string& has_come, const std::string& log) {
  return job_of_one_pod(is_over, [&is_over, has_come, log](Exchange& exchange) {
    exchange.begin_stream();
    if (!is_over.exchange(true)) {
      exchange.chunk(has_come);
      exchange.drop();
    }
    exchange.chunk(log);
    exchange.end_stream();
  });
}

TEST_F(JobLogs, AreFollowedEachLineOnceWhereTheMachinesClockGoesBack) {
  std::atomic<bool> is_over = false;
  const std::string log =
      line(4, "one") + line(5, "two") + line(5, "two") + line(3, "three") + line(6, "four");
  const FaultServer server(breaks_once(is_over, log.substr(0, log.rfind("two") + 1), log));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  const Status read = cluster->read_log({.job = "tiny", .follow = true}, take_);
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_THAT(lines_, ElementsAre("one", "two", "two", "three", "four"));
}

TEST_F(JobLogs, GoOnWithWhatThereIsWhereTheLogWasRotated) {
  std::atomic<bool> is_over = false;
  const FaultServer server(
      breaks_once(is_over, line(1, "one") + line(2, "two"), line(8, "eight") + line(9, "nine")));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  ::testing::internal::CaptureStderr();
  const Status read = cluster->read_log({.job = "tiny", .tail = 5, .follow = true}, take_);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("the log was rotated, or the pod was deleted; it goes on with what there is"));
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_THAT(lines_, ElementsAre("one", "two", "eight", "nine"));
  EXPECT_THAT(server.requests().back().query, Not(HasSubstr("tailLines")));
}

// As a kubelet answers, with 200, that has no log.
TEST_F(JobLogs, AreNoWordsOfTheMachine) {
  const FaultServer server(ended_job(reply_with(200, "unable to retrieve container logs for c://1")));
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  for (const bool follow : {false, true}) {
    const Status read = cluster->read_log({.job = "tiny", .follow = follow}, take_);
    ASSERT_FALSE(read) << (follow ? "followed" : "read once");
    EXPECT_THAT(read.error().message, HasSubstr("gives no log of it: unable to retrieve container logs"));
  }
  EXPECT_THAT(lines_, IsEmpty());
}

// A job of two nodes, of which none has a pod when they are asked for.
TEST_F(JobLogs, OfAllNodesAreFollowedWhosePodsComeLater) {
  std::atomic<int> looks = 0;
  std::array<std::atomic<bool>, 2> is_read = {};
  const FaultServer server([&](Exchange& exchange) {
    const std::string& path = exchange.request().path;
    const bool is_over = is_read[0] && is_read[1];
    if (path.ends_with("/pods")) {
      JsonArray items;
      for (const int node : {0, 1}) {
        const bool is_asked_for =
            exchange.request().query.find(fmt::format("node-index%3D{}", node)) != std::string::npos;
        if (is_asked_for && ++looks > 2)
          items.push_back(pod_of_attempt(1, is_over ? "Succeeded" : "Running", node));
      }
      return exchange.reply(
          200, boost::json::serialize(JsonObject{{"kind", "PodList"}, {"items", std::move(items)}}));
    }
    if (path.ends_with("/log")) {
      exchange.reply(200, line(1, "here"));
      is_read[path.find("/tiny-1-") == std::string::npos ? 0 : 1] = true;
      return;
    }
    exchange.reply(200, fmt::format(R"({{"metadata": {{"name": "tiny", "namespace": "s", "uid": "u"}},
        "spec": {{"resources": {{"devices": 2, "devicesPerNode": 1}}}},
        "status": {{"conditions": [{{"type": "Complete", "status": "{}", "reason": "StepsReached"}}]}}}})",
                                    is_over ? "True" : "False"));
  });
  const auto cluster = connect(server);
  ASSERT_NE(cluster, nullptr);
  ::testing::internal::CaptureStdout();
  const auto code =
      cli::print_logs(*cluster, {.question = {.job = "tiny", .follow = true}, .all_nodes = true});
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("[node 0] here\n"), HasSubstr("[node 1] here\n")));
  EXPECT_EQ(code.value_or(ExitCode::kBadInput), ExitCode::kDone);
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
