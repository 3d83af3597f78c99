// What a server or a network can do to a single call.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <thread>

#include "common/testing/temporary_folder.h"
#include "tests/kube/objects.h"
#include "tests/kube/scripted_client.h"

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class CallFaults : public ScriptedClientTest {
 protected:
  // Runs a call on a thread of its own, while the test moves the clock.
  template <typename Call>
  auto in_background(Call call) {
    return std::async(std::launch::async, std::move(call));
  }
};

TEST_F(CallFaults, ThrottlingIsWaitedOutAsLongAsTheServerSays) {
  serve(in_turn({reply_with(429, status_json(429, "TooManyRequests"),
                            {{"Retry-After", "7"}, {"X-Kubernetes-PF-FlowSchema-UID", "workload-low"}}),
                 reply_with(200, "{}")}));
  auto created = in_background([&] { return client_->create({}, pods_, pod("a", "", "")); });
  clock_.await_sleeper(7s);
  EXPECT_EQ(requests("POST"), 1);
  clock_.advance(7s);
  EXPECT_TRUE(created.get());
  EXPECT_EQ(requests("POST"), 2);
  EXPECT_EQ(recorder_.retries(), std::vector<std::string>{"workload-low"});
}

TEST_F(CallFaults, WhenTheWaitIsLongerThanTheCallMayTakeTheAnswerIsTheServers) {
  serve(reply_with(429, status_json(429, "TooManyRequests", "slow down"), {{"Retry-After", "60"}}));
  const auto answer = client_->get({}, pods_, "a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "GET /api/v1/namespaces/s/pods/a: 429 TooManyRequests: slow down");
}

TEST_F(CallFaults, TheDateOfAnAnswerTellsHowWrongOurClockIsAtLeast) {
  struct Case {
    const char* date;  // our clock: 22:13:20
    std::optional<std::chrono::seconds> ahead;
  };
  for (const auto& [date, ahead] : {Case{"now", std::nullopt},
                                    {"Tue, 14 Nov 2023 22:13:20 GMT", 0s},
                                    {"Tue, 14 Nov 2023 22:12:35 GMT", 44s},
                                    {"Tue, 14 Nov 2023 22:13:19 GMT", 0s},
                                    {"Tue, 14 Nov 2023 22:14:05 GMT", -45s}}) {
    serve(reply_with(200, "{}", {{"Date", date}}));
    EXPECT_TRUE(client_->get({}, pods_, "a"));
    EXPECT_EQ(recorder_.clock_ahead(), ahead) << date;
  }
}

TEST_F(CallFaults, ACallThatTakesLongTellsNothingOfOurClock) {
  const auto after = [this](std::chrono::milliseconds time) -> Script {
    return [this, time](Exchange& exchange) {
      clock_.advance(time);
      exchange.reply(200, "{}", {{"Date", "Tue, 14 Nov 2023 22:13:20 GMT"}});
    };
  };
  serve(in_turn({after(1001ms), after(1000ms)}));
  EXPECT_TRUE(client_->get({}, pods_, "a"));
  EXPECT_EQ(recorder_.clock_ahead(), std::nullopt);
  EXPECT_TRUE(client_->get({}, pods_, "a"));
  EXPECT_EQ(recorder_.clock_ahead(), 0s);
}

TEST_F(CallFaults, UnauthorizedReadsTheRotatedTokenAndTriesOnce) {
  const fs::path file = fs::temp_directory_path() / fmt::format("token.{}", ::getpid());
  std::ofstream(file) << "old";
  serve([&](Exchange& exchange) {
    if (header(exchange.request().headers, "Authorization") == "Bearer new") return exchange.reply(200, "{}");
    std::ofstream(file) << "new";
    exchange.reply(401, status_json(401, "Unauthorized"));
  });
  connect({.token_file = file.string()});
  EXPECT_TRUE(client_->get({}, pods_, "a"));
  EXPECT_EQ(requests("GET"), 2);
  fs::remove(file);
}

TEST_F(CallFaults, ALoginAfterUnauthorizedTakesNothingOfTheCallsOwnTime) {
  const test::TemporaryFolder folder;
  const std::string plugin = folder.write("login", fmt::format(R"(#!/bin/sh
cd '{}'
if [ -e once ]; then
  touch again
  until [ -e go ]; do sleep 0.01; done
fi
touch once
echo '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{"token":"t"}}}}'
)",
                                                               folder.path("")));
  fs::permissions(plugin, fs::perms::owner_all);
  serve(in_turn({reply_with(401, status_json(401, "Unauthorized")), reply_with(200, "{}")}));
  connect({.exec = ExecPlugin{.command = plugin}});
  auto answer = in_background([&] { return client_->get({}, pods_, "a"); });
  await([&] { return fs::exists(folder.path("again")); });
  clock_.advance(31s);  // a call has 30 s
  folder.write("go", "");
  const auto outcome = answer.get();
  EXPECT_TRUE(outcome) << outcome.error().message;
}

TEST_F(CallFaults, ALoginThatFailsIsNotTriedAgainInsideACall) {
  const test::TemporaryFolder folder;
  const std::string plugin = folder.write("login", "#!/bin/sh\nexit 1\n");
  fs::permissions(plugin, fs::perms::owner_all);
  serve(reply_with(200, "{}"));
  connect({.exec = ExecPlugin{.command = plugin}});
  const auto answer = client_->get({}, pods_, "a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kNoCredentials);
  EXPECT_TRUE(recorder_.retries().empty());
}

TEST_F(CallFaults, UnauthorizedForGoodIsAnErrorAfterOneMoreTry) {
  serve(reply_with(401, status_json(401, "Unauthorized")));
  const auto answer = client_->get({}, pods_, "a");
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().is_unauthorized());
  EXPECT_EQ(requests("GET"), 2);
}

TEST_F(CallFaults, AStreamIsOpenedAsACallIsMadeThroughThrottlingAndWithARotatedToken) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("token", "old");
  serve(in_turn({reply_with(429, status_json(429, "TooManyRequests"), {{"Retry-After", "7"}}),
                 [&](Exchange& exchange) {
                   folder.write("token", "new");
                   exchange.reply(401, status_json(401, "Unauthorized"));
                 },
                 reply_with(200, "line")}));
  connect({.token_file = file});
  auto opened = in_background([&] { return client_->open({}, pods_, "a", "log", {}).has_value(); });
  clock_.await_sleeper(7s);
  EXPECT_EQ(requests("GET"), 1);
  clock_.advance(7s);
  EXPECT_TRUE(opened.get());
  EXPECT_EQ(header(server_->requests().back().headers, "Authorization"), "Bearer new");
  EXPECT_EQ(requests("GET"), 3);
}

TEST_F(CallFaults, AReadWhoseAnswerIsLostIsRepeatedAndACreateIsNot) {
  const Script lost = [](Exchange& exchange) { exchange.drop(); };
  serve(in_turn({lost, lost}));
  const auto created = client_->create({}, pods_, pod("a", "", ""));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind, ErrorKind::kBroken);
  EXPECT_EQ(requests("POST"), 1);

  serve(in_turn({lost, reply_with(200, "{}")}));
  auto read = in_background([&] { return client_->get({}, pods_, "a"); });
  clock_.await_sleeper(2ms);  // 5 ms · kRandom
  clock_.advance(2ms);
  EXPECT_TRUE(read.get());
}

TEST_F(CallFaults, ABodyThatIsCutShortIsAnError) {
  serve([](Exchange& exchange) {
    exchange.begin_stream();
    exchange.chunk("{}");
    exchange.drop();
  });
  connect({}, {.retry = {.tries = 1}});
  const auto answer = client_->get({}, pods_, "a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kBroken);
}

TEST_F(CallFaults, AHangingServerCostsTheDeadlineAndNoMore) {
  serve([](Exchange& exchange) { exchange.hang(); });
  auto answer = in_background([&] { return client_->get({}, pods_, "a"); });
  await([&] { return requests("GET") == 1; });
  clock_.advance(30s);
  const auto outcome = answer.get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kTimeout);
  EXPECT_EQ(recorder_.unanswered, 1);
}

// Whoever calls the job service decides how long it may ask the API server for him.
TEST_F(CallFaults, AShortDeadlineOfTheCallersOwnIsNoFailureOfTheServer) {
  serve([](Exchange& exchange) { exchange.hang(); });
  const auto create_within = [&](std::chrono::milliseconds time) {
    const int before = requests("POST");
    const CallContext context{.deadline = clock_.now() + time};
    auto answer = in_background([&] { return client_->create(context, pods_, pod("a", "", "")); });
    await([&] { return requests("POST") > before; });
    clock_.advance(time);
    return answer.get().error().kind;
  };
  EXPECT_EQ(create_within(900ms), ErrorKind::kTimeout);
  EXPECT_EQ(recorder_.unanswered, 0);
  EXPECT_EQ(create_within(5s), ErrorKind::kTimeout);
  EXPECT_EQ(recorder_.unanswered, 1) << "so long it had time to answer";
}

TEST_F(CallFaults, AStopRequestEndsACallAtOnce) {
  serve([](Exchange& exchange) { exchange.hang(); });
  std::stop_source stop;
  auto answer = in_background([&] { return client_->get({.stop = stop.get_token()}, pods_, "a"); });
  await([&] { return requests("GET") == 1; });
  stop.request_stop();
  EXPECT_EQ(answer.get().error().kind, ErrorKind::kStopped);
  EXPECT_EQ(recorder_.unanswered, 0);
}

TEST_F(CallFaults, AnAnswerThatIsNoJsonIsAnError) {
  serve(reply_with(200, "<html>"));
  EXPECT_EQ(client_->get({}, pods_, "a").error().kind, ErrorKind::kMalformed);
}

TEST_F(CallFaults, AListReadsEveryPageAndStartsOverWhenItsTokenExpired) {
  serve(in_turn({reply_with(200, list_of({pod("a", "1", "1")}, "5", "x")),
                 reply_with(410, status_json(410, "Expired")),
                 reply_with(200, list_of({pod("a", "1", "1")}, "6", "y")),
                 reply_with(200, list_of({pod("b", "2", "2")}, "6"))}));
  const auto list = client_->list({}, pods_, {});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->items.size(), 2U);
  EXPECT_EQ(requests("GET", "continue=y"), 1);
  EXPECT_EQ(requests("GET", "resourceVersion"), 0) << "anything but a quorum read may be of the past";
}

TEST_F(CallFaults, AConflictIsTheCallersBusiness) {
  serve(reply_with(409, status_json(409, "Conflict")));
  EXPECT_TRUE(client_->replace({}, pods_, pod("a", "1", "1")).error().is_conflict());
  EXPECT_EQ(requests("PUT"), 1);
}

TEST_F(CallFaults, ServerSideApplyForcesAndSaysWhoseFieldsTheseAre) {
  serve(reply_with(200, "{}"));
  connect(
      {},
      {.user_agent = "caravan-operator/1", .field_manager = "operator", .status_field_manager = "progress"});
  ASSERT_TRUE(client_->apply({}, pods_, pod("a", "1", "")));
  ASSERT_TRUE(client_->apply_status({}, pods_, pod("a", "1", "")));
  const std::vector<Received> requests = server_->requests();
  EXPECT_EQ(requests[0].query, "fieldManager=operator&force=true");
  EXPECT_EQ(header(requests[0].headers, "Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(header(requests[0].headers, "User-Agent"), "caravan-operator/1");
  EXPECT_EQ(header(requests[0].headers, "Accept"), "application/json");
  EXPECT_EQ(requests[1].path, "/api/v1/namespaces/s/pods/a/status");
  EXPECT_EQ(requests[1].query, "fieldManager=progress&force=true");
}

TEST_F(CallFaults, AnObjectReadFromTheServerIsNotApplied) {
  serve(reply_with(200, "{}"));
  Json read = pod("a", "1", "1");
  read.get_object()["metadata"].get_object()["managedFields"] = JsonArray{};
  EXPECT_EQ(client_->apply({}, pods_, read).error().kind, ErrorKind::kRefusedHere);
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(CallFaults, ADeletionNamesTheObjectItMeans) {
  serve(reply_with(200, "{}"));
  ASSERT_TRUE(client_->remove({}, pods_, "a", {.uid = "1", .propagation = Propagation::kForeground}));
  const auto body = parse_json(server_->requests()[0].body, "body").value();
  EXPECT_EQ(text_at(body, {"preconditions", "uid"}), "1");
  EXPECT_EQ(text_at(body, {"propagationPolicy"}), "Foreground");
}

TEST_F(CallFaults, WithoutANameNothingIsSentSinceItWouldMeanTheWholeCollection) {
  serve(reply_with(200, "{}"));
  for (const char* name : {"", ".", ".."}) {
    const auto removed = client_->remove({}, pods_, name, {});
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().kind, ErrorKind::kRefusedHere);
    EXPECT_FALSE(client_->apply({}, pods_, pod(name, "", "")));
  }
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(CallFaults, WhoIsNotTheLeaderReadsButDoesNotWrite) {
  serve(reply_with(200, "{}"));
  connect({}, {.may_write = [] { return false; }});
  EXPECT_TRUE(client_->get({}, pods_, "a"));
  EXPECT_EQ(client_->create({}, pods_, pod("a", "", "")).error().kind, ErrorKind::kRefusedHere);
  EXPECT_EQ(requests("POST"), 0);
}

// A process may be stopped anywhere, and on a busy machine one thread hands over to another late.
TEST_F(CallFaults, WhetherSomebodyLeadsIsAskedByTheThreadThatSends) {
  serve(reply_with(201, "{}"));
  std::thread::id asked_on;
  connect({}, {.may_write = [&] {
            asked_on = std::this_thread::get_id();
            return true;
          }});
  EXPECT_TRUE(client_->create({}, pods_, pod("a", "", "")));
  EXPECT_NE(asked_on, std::thread::id());
  EXPECT_NE(asked_on, std::this_thread::get_id());
}

}  // namespace
}  // namespace caravan::kube::testing
