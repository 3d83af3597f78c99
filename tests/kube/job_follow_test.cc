// A job that is waited for, on a server that is away for a while, and one that is deleted meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>

#include "cli/cluster/cluster.h"
#include "tests/kube/connect_cluster.h"

namespace caravan::kube::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRuns =
    R"({"metadata": {"name": "tiny", "namespace": "s", "uid": "u", "resourceVersion": "1"}})";
constexpr const char* kIsOver =
    R"({"metadata": {"name": "tiny", "namespace": "s", "uid": "u", "resourceVersion": "2"},
        "status": {"state": "Complete"}})";

// looks: answers to the first, second, ... time that the job is read.
Script server_of(std::vector<Script> looks, Script watch) {
  return [look = in_turn(std::move(looks)), watch = std::move(watch)](Exchange& exchange) {
    exchange.request().path.ends_with("/tiny") ? look(exchange) : watch(exchange);
  };
}

class JobFollow : public ::testing::Test {
 protected:
  // Until the job is over.
  Status follow(const FaultServer& server, const std::string& user = "token: t") {
    const auto cluster = connect_cluster(server, folder_, user);
    if (cluster == nullptr) return failure("no cluster");
    const Clock::TimePoint deadline = cluster->clock().now() + std::chrono::minutes(5);
    return cluster->follow("tiny", deadline, [](const Json& job) {
      return text_at(job, {"status", "state"}) != "Complete";
    });
  }

  const test::TemporaryFolder folder_;
};

Script fails(int code, const std::string& reason) {
  return reply_with(code, status_json(code, reason));
}

TEST_F(JobFollow, GoesOnThroughAnOutageOfTheServer) {
  const Script is_cut_off = [](Exchange& exchange) { exchange.drop(); };
  const FaultServer server(
      server_of({reply_with(200, kRuns), fails(500, "InternalError"), fails(502, "BadGateway"),
                 reply_with(200, kRuns), reply_with(200, kIsOver)},
                is_cut_off));
  const Status followed = follow(server);
  EXPECT_TRUE(followed) << followed.error().message;
}

TEST_F(JobFollow, GoesOnWhereTheCredentialPluginFailsForAWhile) {
  const Script then_it_fails = [this](Exchange& exchange) {
    folder_.write("fails", "");
    exchange.reply(200, kRuns);
  };
  const FaultServer server(server_of({then_it_fails, reply_with(200, kIsOver)}, fails(500, "Away")));
  const Status followed = follow(
      server, user_by_plugin(folder_, fmt::format("rm '{}' 2>/dev/null && exit 1", folder_.path("fails"))));
  EXPECT_TRUE(followed) << followed.error().message;
}

TEST_F(JobFollow, EndsAtOnceWhereTheServerFailsBeforeTheJobWasSeen) {
  const FaultServer server(
      server_of({fails(500, "InternalError"), reply_with(200, kIsOver)}, fails(500, "")));
  EXPECT_FALSE(follow(server)) << "a mistake in the address must not wait for days";
}

TEST_F(JobFollow, EndsWhereTheRightIsTakenAway) {
  for (const int code : {401, 403}) {
    const FaultServer server(server_of({reply_with(200, kRuns), fails(code, "Refused")}, fails(500, "Away")));
    const Status followed = follow(server);
    ASSERT_FALSE(followed) << code;
    EXPECT_NE(followed.error().code, cli::kTimedOut) << followed.error().message;
  }
}

TEST_F(JobFollow, TellsADeletionInOneWayWhateverTellsIt) {
  const Script by_event = [](Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk(std::string(R"({"type": "DELETED", "object": {}})") + "\n");
    exchange.end_stream();
  };
  const Script ends = [](Exchange& exchange) { exchange.drop(); };
  std::string another = kRuns;
  another.replace(another.find(R"("u")"), 3, R"("another")");
  const FaultServer told(server_of({reply_with(200, kRuns)}, by_event));
  const FaultServer gone(server_of({reply_with(200, kRuns), fails(404, "NotFound")}, ends));
  const FaultServer anew(server_of({reply_with(200, kRuns), reply_with(200, another)}, ends));
  for (const FaultServer* server : {&told, &gone, &anew}) {
    const Status followed = follow(*server);
    ASSERT_FALSE(followed);
    EXPECT_EQ(followed.error().message, "job tiny was deleted");
    EXPECT_EQ(followed.error().code, ExitCode::kJobFailed);
  }
}

}  // namespace
}  // namespace caravan::kube::testing
