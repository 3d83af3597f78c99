// The job service over HTTP against a client of OpenSSL's, before an API server that knows ada, who may do
// everything, and bob, who may do nothing.
#include "service/rpc/json_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "common/certificates.h"
#include "common/testing/manual_clock.h"
#include "common/testing/temporary_folder.h"
#include "http/testing/tls_client.h"
#include "kube/watch/store.h"
#include "service/rpc/method_table.h"
#include "service/testing/review_server.h"

namespace caravan::service {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using TlsClient = http::testing::TlsClient;

// What was told of calls that ended: "GetJob 0".
class Ended {
 public:
  void add(const std::string& method, int code) {
    const std::scoped_lock lock(mutex_);
    calls_.insert(fmt::format("{} {}", method, code));
    changed_.notify_all();
  }
  void await(const std::string& call) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_.contains(call); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> calls_;
};

class JsonServerTest : public ::testing::Test {
 protected:
  JsonServerTest() {
    for (const char* name : {"ada", "bob"}) reviews_.know(name, name);
    reviews_.allow_everything("ada");
    show("service");
    folder_.write("ca.crt", authority_.certificate_pem);
  }

  void show(const std::string& name) {
    const KeyPair shown = issue_certificate(authority_, {.common_name = name}).value();
    folder_.write("tls.crt", shown.certificate_pem);
    folder_.write("tls.key", shown.key_pem);
  }

  void start(http::Limits limits = {.connections = 64, .body_bytes = 10'000}, std::size_t streams = 10) {
    auto server =
        JsonServer::start({.listen = "127.0.0.1:0",
                           .tls = {folder_.path("tls.crt"), folder_.path("tls.key"), folder_.path("ca.crt")},
                           .limits = limits,
                           .streams = streams},
                          server_clock_, gate_, shares_, audit_, methods_,
                          [this](const std::string& method, int code, auto) { ended_.add(method, code); });
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }

  void change(const std::string& name, const std::string& state, const std::string& version) {
    const kube::Json job = kube::JsonObject{
        {"metadata",
         kube::JsonObject{
             {"name", name}, {"namespace", "team"}, {"uid", name}, {"resourceVersion", version}}},
        {"status", kube::JsonObject{{"state", state}}}};
    for (const kube::Change& one : store_.upsert(job)) jobs_.take(one);
  }

  TlsClient connect(const KeyPair& shown = {}) {
    return {server_->address(), {.authority_pem = authority_.certificate_pem, .shown = shown}};
  }
  static std::string request(const std::string& line, const std::string& token,
                             const std::string& body = "") {
    return fmt::format(
        "{} HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {}\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        line, token, body.size(), body);
  }
  std::string ask(const std::string& line, const std::string& token = "ada", const std::string& body = "") {
    TlsClient client = connect();
    client.send(request(line, token, body));
    return client.receive();
  }

  const KeyPair authority_ = make_authority("test", std::chrono::hours(1)).value();
  test::TemporaryFolder folder_;
  SystemClock clock_;
  ::caravan::testing::ManualClock server_clock_;
  Ended ended_;
  testing::ReviewServer reviews_;
  TokenCredentials credentials_{"of the service"};
  kube::Observer observer_;
  kube::Client client_{reviews_, credentials_, clock_, [] { return 0.5; }, {.retry = {.tries = 1}},
                       observer_};
  kube::Store store_;
  JobFeed jobs_{[this] {
                  return JobFeed::Versions{store_.resource_version(), store_.resource_version()};
                },
                "team"};
  Callers callers_{client_, clock_, {"caravan"}};
  Rights rights_{client_, clock_};
  Shares shares_{clock_, {.requests_per_second = 0.001, .burst = 20, .streams = 1}};
  CallerClients clients_{
      {.server = {"127.0.0.1", "1"}}, credentials_, clock_, observer_, {.retry = {.tries = 1}}};
  ReadMethods read_{jobs_, rights_, [] { return true; }};
  WriteMethods write_{clients_, clock_};
  WatchMethods watch_{jobs_, callers_, rights_, clock_, [] { return true; }, {}};
  EventMethods events_{clients_};
  EstimateMethods estimates_{rights_, clock_};
  LogMethods logs_{jobs_, rights_, clients_, clock_, [] { return true; }, {}, {}};
  MetricsMethods metrics_{jobs_, callers_, rights_, clock_, [] { return true; }, nullptr, {}, {}};
  CapacityMethods capacity_{rights_, clients_, nullptr};
  Methods methods_{read_, write_, watch_, events_, logs_, metrics_, estimates_, capacity_};
  Gate gate_{callers_, shares_, clock_, {}};
  std::mutex audit_mutex_;
  std::vector<std::string> audited_;  // lines
  Audit audit_{clock_, [this](const std::string& line) {
                 const std::scoped_lock lock(audit_mutex_);
                 audited_.push_back(line);
               }};
  std::unique_ptr<JsonServer> server_;
};

constexpr char kGetJob[] = "GET /v1alpha1/namespaces/team/jobs/a";
constexpr char kWatch[] = "GET /v1alpha1/namespaces/team/jobs:watch";

TEST_F(JsonServerTest, EveryMethodIsInTheTable) {
  const MethodTable table = method_table(methods_);
  const auto& service = *v1alpha1::Job::descriptor()->file()->FindServiceByName("JobService");
  EXPECT_EQ(table.size(), static_cast<std::size_t>(service.method_count()));
  for (int i = 0; i < service.method_count(); ++i) {
    const std::string& name = service.method(i)->name();
    ASSERT_TRUE(table.contains(name)) << name;
    EXPECT_EQ(std::holds_alternative<StreamMethod>(table.at(name)), service.method(i)->server_streaming())
        << name;
  }
}

TEST_F(JsonServerTest, AMethodIsAnsweredInJson) {
  store_.replace({}, "5");
  change("a", "Running", "6");
  start();
  EXPECT_THAT(ask(kGetJob),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"),
                    HasSubstr(R"("name":"namespaces/team/jobs/a")"), HasSubstr(R"("state":"Running")")));
  ended_.await("GetJob 0");
  EXPECT_THAT(ask("GET /v1alpha1/namespaces/team/jobs?pageSize=1"), HasSubstr(R"("totalSize":1)"));
  EXPECT_THAT(
      ask("GET /v1alpha1/namespaces/team/jobs/b"),
      AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr(R"("code":5)"), HasSubstr(R"("reason":"NOT_FOUND")")));
  ended_.await("GetJob 5");
}

TEST_F(JsonServerTest, NothingIsReadOfARequestBeforeItsCallerIsKnown) {
  start();
  EXPECT_THAT(ask(kGetJob, "eve"),
              AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer\r\n"),
                    HasSubstr(R"("reason":"BAD_TOKEN")")));
  for (const char* token : {"", "eve"})
    EXPECT_THAT(ask("POST /v1alpha1/namespaces/team/jobs?nonsense=1", token, "{{{"),
                StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask("POST /v1alpha1/namespaces/team/jobs", "ada", "{{{"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("the body is no JSON")));
}

TEST_F(JsonServerTest, AnybodyMayReadWhichMethodsThereAre) {
  start();
  const std::string answer = ask("GET /openapi.json", "");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"));
  const auto document = kube::parse_json(answer.substr(answer.find("\r\n\r\n")), "it").value();
  EXPECT_EQ(kube::text_at(document, {"paths", "/v1alpha1/namespaces/{namespace}/jobs/{job}:suspend", "post",
                                     "operationId"}),
            "SuspendJob");
}

TEST_F(JsonServerTest, AnybodyMayReadThePageWhichLetsNothingOfOthersIn) {
  start();
  const std::string page = ask("GET /", "");
  EXPECT_THAT(page,
              AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html"), HasSubstr("default-src 'none'"),
                    HasSubstr("script-src 'self';"), HasSubstr("frame-ancestors 'none'"),
                    HasSubstr("X-Content-Type-Options: nosniff\r\n"),
                    HasSubstr("Referrer-Policy: no-referrer\r\n"), HasSubstr("Cache-Control: no-cache\r\n")));
  const std::size_t script = page.find("/page/");
  ASSERT_NE(script, std::string::npos) << page;
  EXPECT_THAT(ask("GET " + page.substr(script, page.find('"', script) - script), ""),
              AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("immutable"), HasSubstr("nosniff")));
  EXPECT_THAT(ask("GET /page/other.js", ""), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("HEAD /", ""),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html"), EndsWith("\r\n\r\n")));
}

TEST_F(JsonServerTest, NobodyMayWhatTheApiServerDoesNotLetHim) {
  start();
  EXPECT_THAT(ask(kGetJob, "bob"), AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr(R"("reason":"FORBIDDEN")")));
  EXPECT_THAT(ask(kWatch, "bob"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(JsonServerTest, OfANamespaceWhoseJobsThisServiceDoesNotHaveItSaysSo) {
  start();
  for (const char* path : {"jobs", "jobs:watch", "jobs/a", "jobs/a/checkpoints", "jobs/a/metrics"}) {
    EXPECT_THAT(ask(fmt::format("GET /v1alpha1/namespaces/other/{}", path)),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr(R"("code":9)"),
                      HasSubstr(R"("reason":"OTHER_NAMESPACE")"), HasSubstr("of the namespace team")))
        << path;
    EXPECT_THAT(ask(fmt::format("GET /v1alpha1/namespaces/other/{}", path), "bob"),
                StartsWith("HTTP/1.1 403 "))
        << path;
  }
}

TEST_F(JsonServerTest, WhoIsRefusedAChangeLeavesALineOfAudit) {
  start();
  ask("DELETE /v1alpha1/namespaces/team/jobs/a", "mallory");
  ask("POST /v1alpha1/namespaces/team/jobs?unknown=1", "ada", "{}");
  ask(kGetJob, "mallory");
  const std::scoped_lock lock(audit_mutex_);
  ASSERT_EQ(audited_.size(), 2u) << "of reads there is none";
  EXPECT_THAT(audited_[0], AllOf(HasSubstr(R"("audit":"DeleteJob")"), HasSubstr("namespaces/team/jobs/a"),
                                 HasSubstr("UNAUTHENTICATED")));
  EXPECT_THAT(audited_[1], AllOf(HasSubstr(R"("audit":"CreateJob")"), HasSubstr(R"("user":"ada")"),
                                 HasSubstr("INVALID_ARGUMENT")));
}

TEST_F(JsonServerTest, ACallerMayComeWithACertificate) {
  start();
  TlsClient ada = connect(
      issue_certificate(authority_, {.common_name = "ada", .for_server = false, .for_client = true}).value());
  ada.send(std::string(kGetJob) + " HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(ada.receive(), StartsWith("HTTP/1.1 404 ")) << "ada may look, and there is no job";
}

TEST_F(JsonServerTest, ACertificateThatIsReplacedIsShownWithoutARestart) {
  start();
  EXPECT_EQ(connect().name_of_server(), "service");
  folder_.write("tls.key", "in the middle of a replacement");
  server_clock_.await_sleeper(kTlsFilesStand);
  server_clock_.advance(kTlsFilesStand);
  server_clock_.await_sleeper(kTlsFilesStand);
  EXPECT_EQ(connect().name_of_server(), "service");
  show("its successor");
  server_clock_.advance(kTlsFilesStand);
  server_clock_.await_sleeper(kTlsFilesStand);
  EXPECT_EQ(connect().name_of_server(), "its successor");
}

TEST_F(JsonServerTest, OtherPathsAndVerbsAreRefused) {
  start();
  EXPECT_THAT(ask("GET //"), AllOf(StartsWith("HTTP/1.1 400 ")));
  EXPECT_THAT(ask("GET /v1alpha1/jobs"),
              AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr(R"("reason":"NO_METHOD")")));
  EXPECT_THAT(
      ask("PUT /v1alpha1/namespaces/team/jobs/a"),
      AllOf(StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"), HasSubstr("\r\nAllow: GET, DELETE\r\n")));
  EXPECT_THAT(ask("GET /v1alpha1/namespaces/team/jobs/a%2e"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("GET /v1alpha1/namespaces/team/jobs?x=1"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("unknown parameter")));
}

TEST_F(JsonServerTest, WhatIsNotReadIsAnErrorInJsonToo) {
  start();
  const std::string line = "POST /v1alpha1/namespaces/team/jobs HTTP/1.1\r\n";
  const std::pair<std::string, const char*> cases[] = {
      {line + "Content-Length: 10001\r\n\r\n", "413 Content Too Large"},
      {line + "Transfer-Encoding: chunked\r\n\r\n", "411 Length Required"},
      {line + "X: " + std::string(10'000, 'x') + "\r\n\r\n", "431 Request Header Fields Too Large"},
      {"nonsense\r\n\r\n", "400 Bad Request"}};
  for (const auto& [sent, status] : cases) {
    TlsClient client = connect();
    client.send(sent);
    EXPECT_THAT(
        client.receive(),
        AllOf(StartsWith(std::string("HTTP/1.1 ") + status + "\r\nContent-Type: application/json\r\n"),
              HasSubstr(R"({"code":3,"message":"expected)"), HasSubstr(R"("reason":"BAD_REQUEST")")));
  }
}

TEST_F(JsonServerTest, WhoeverAsksTooOftenIsToldWhenToComeAgain) {
  start();
  std::string refused;
  TlsClient client = connect();
  for (int i = 0; i < 1000 && refused.empty(); ++i) {
    client.send(std::string(kGetJob) + " HTTP/1.1\r\nAuthorization: Bearer ada\r\n\r\n");
    const std::string answer = client.receive("}\n");
    if (answer.starts_with("HTTP/1.1 429 ")) refused = answer;
  }
  EXPECT_THAT(refused, AllOf(HasSubstr("\r\nRetry-After: "), HasSubstr(R"("reason":"RATE_LIMITED")")));
}

TEST_F(JsonServerTest, AWatchIsAStreamOfEventsThatGoesOnWhereItWas) {
  store_.replace({}, "5");
  start();
  {
    TlsClient client = connect();
    client.send(request(kWatch, "ada"));
    EXPECT_THAT(client.receive("5\"}\n\n"),
                AllOf(HasSubstr("\r\nContent-Type: text/event-stream\r\n"),
                      HasSubstr("id: 5\ndata: {\"kind\":\"Complete\",\"resumeToken\":\"5\"}\n\n")));
    change("a", "Running", "6");
    EXPECT_THAT(client.receive("6\"}\n\n"),
                AllOf(HasSubstr("id: 6\ndata: {\"kind\":\"Changed\""), HasSubstr("namespaces/team/jobs/a")));
    EXPECT_THAT(ask(kWatch), StartsWith("HTTP/1.1 429 ")) << "one stream is all that a caller may have here";
  }
  ended_.await("WatchJobs 1");
  change("b", "Running", "7");
  TlsClient client = connect();
  client.send(std::string(kWatch) + " HTTP/1.1\r\nAuthorization: Bearer ada\r\nLast-Event-ID: 6\r\n\r\n");
  EXPECT_THAT(client.receive("7\"}\n\n"), AllOf(HasSubstr("id: 7\n"), Not(HasSubstr("Complete"))));
}

TEST_F(JsonServerTest, StreamsLeaveRoomForOtherCalls) {
  store_.replace({}, "5");
  start({}, 0);
  EXPECT_THAT(ask(kWatch), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("\r\nRetry-After: "),
                                 HasSubstr(R"("reason":"BUSY")")));
  EXPECT_THAT(ask(kGetJob), StartsWith("HTTP/1.1 404 "));
}

TEST_F(JsonServerTest, AStreamThatCannotBeginHasAnOrdinaryStatus) {
  store_.replace({}, "5");
  start();
  EXPECT_THAT(ask(std::string(kWatch) + "?resumeToken=1"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("RESUME_TOKEN_TOO_OLD")));
  EXPECT_THAT(ask(std::string(kWatch) + "?filter=nonsense"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(JsonServerTest, AReaderWhoIsSlowIsToldOfAllJobsAndOfEachAsItIsByThen) {
  store_.replace({}, "5");
  start({.answer_time = std::chrono::hours(1)});
  TlsClient client = connect();
  client.send(request(kWatch, "ada"));
  EXPECT_THAT(client.receive("Complete"), HasSubstr("Complete"));
  // Far more than the buffers between two sockets take.
  int version = 6;
  for (int i = 0; i < 1000; ++i) change("a", std::string(100'000, 'x'), std::to_string(version++));
  change("a", "Complete", std::to_string(version));
  EXPECT_THAT(client.receive("\"state\":\"Complete\""), HasSubstr("\"state\":\"Complete\""));
}

TEST_F(JsonServerTest, StreamsEndWithTheServerAndNoCallIsLeft) {
  store_.replace({}, "5");
  start();
  TlsClient client = connect();
  client.send(request(kWatch, "ada"));
  EXPECT_THAT(client.receive("Complete"), HasSubstr("Complete"));
  std::jthread stopping([this] { server_->stop(std::chrono::minutes(1)); });
  EXPECT_THAT(client.receive(), EndsWith("0\r\n\r\n"));
  client.close();
  stopping.join();
  ended_.await("WatchJobs 1");
}

}  // namespace
}  // namespace caravan::service
