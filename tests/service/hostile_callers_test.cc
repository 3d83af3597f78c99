// The job service's program among callers who mean it ill: they are refused, and others are served.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <map>
#include <thread>

#include "common/testing/await.h"
#include "common/testing/shell.h"
#include "http/testing/client.h"
#include "http/testing/tls_client.h"
#include "kube/config/base64.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {
namespace {

using grpc::StatusCode;
using namespace v1alpha1;

constexpr char kMethods[] = "/caravan.v1alpha1.JobService/";

// A stream of gRPC's reflection, without a token, that asks once and stays open.
class ReflectionStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit ReflectionStream(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + test::kPatience);
    stub_.PrepareBidiStreamingCall(
        &context_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}, this);
    StartRead(&answer_);
    StartWrite(&question_);
    StartCall();
  }
  ~ReflectionStream() override {
    context_.TryCancel();
    over_.get_future().wait();
  }
  ReflectionStream(const ReflectionStream&) = delete;
  ReflectionStream& operator=(const ReflectionStream&) = delete;

  // Once: waits until it is, or is refused.
  bool is_answered() { return answered_.get_future().get(); }

 private:
  void OnReadDone(bool ok) override { answered_.set_value(ok); }
  void OnDone(const grpc::Status&) override { over_.set_value(); }

  const grpc::Slice list_services_{"\x3a\0", 2};
  const grpc::ByteBuffer question_{&list_services_, 1};
  grpc::ByteBuffer answer_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::promise<bool> answered_;
  std::promise<void> over_;
};

class HostileCallersTest : public ServiceProgram {
 protected:
  void begin(const std::vector<std::string>& more = {}) {
    start(more);
    make_account("neighbour", {"get", "list", "watch"});
    neighbour_ = full_token("neighbour");
    create_job("train");
    await_job(make_person("reader"), "train");  // so that the neighbour has all of his share
  }
  Person make_person(const std::string& account) {
    make_account(account, {"*"});
    return person(full_token(account));
  }
  grpc::Status get(const Person& person, const std::string& name) {
    GetJobRequest request;
    request.set_name(name);
    Job job;
    return person.stub->GetJob(person.call().get(), request, &job);
  }
  // Over a connection of his own.
  void expect_that_the_neighbour_is_served() {
    const grpc::Status status = get(person(neighbour_), job_name("train"));
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // The bytes as they are.
  grpc::Status send(const Person& person, const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(person.channel);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    const auto context = person.call();
    std::promise<grpc::Status> ended;
    stub.UnaryCall(context.get(), kMethods + method, {}, &request, &response,
                   [&](const grpc::Status& status) { ended.set_value(status); });
    return ended.get_future().get();
  }

  // Of the service's program.
  int threads() const {
    const std::string status = test::contents(fmt::format("/proc/{}/status", program_->pid()));
    const std::string_view name = "Threads:";
    return std::stoi(status.substr(status.find(name) + name.size()));
  }

  std::string neighbour_;
};

// Of each method, the first field is the name, or the parent.
std::string request_about(const std::string& name) {
  GetJobRequest request;
  request.set_name(name);
  return request.SerializeAsString();
}

TEST_F(HostileCallersTest, NoMethodTakesANameThatCouldMeanSomethingElse) {
  begin();
  const Person person = make_person("forger");
  const std::string here = parent();
  const std::vector<std::string> names{"",
                                       "/",
                                       "namespaces",
                                       "namespaces/",
                                       "namespaces/..",
                                       "namespaces/../jobs/train",
                                       "namespaces/%2e%2e/jobs/train",
                                       "namespaces//jobs/train",
                                       "/" + job_name("train"),
                                       here + "/",
                                       here + "/jobs/",
                                       here + "/jobs/..",
                                       here + "/jobs/train/..",
                                       here + "/jobs/../../kube-system/jobs/train",
                                       here + "/jobs/train%2f..%2fother",
                                       here + "/jobs/train?watch=true",
                                       here + "/jobs/train#",
                                       here + "/jobs/train/status",
                                       here + "/jobs/train ",
                                       here + "/jobs/Train",
                                       here + "/jobs/tr\xc3\xa4in",
                                       here + "/jobs/train\n",
                                       here + "/jobs/" + std::string("train\0", 6),
                                       here + std::string("\0", 1) + "/jobs/train",
                                       here + "/jobs/" + std::string(100'000, 'a')};
  const std::vector<std::string> methods{"GetJob",     "ListJobs",    "WatchJobs",     "ListCheckpoints",
                                         "ListEvents", "StreamLogs",  "StreamMetrics", "CreateJob",
                                         "SuspendJob", "ResumeJob",   "CancelJob",     "CheckpointNow",
                                         "DeleteJob",  "EstimateJob", "GetCapacity"};
  for (const std::string& method : methods) {
    for (const std::string& name : names) {
      const grpc::Status status = send(person, method, request_about(name));
      EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT)
          << method << " of " << name.substr(0, 80) << ": " << status.error_message();
      EXPECT_LT(status.error_message().size(), 2000u) << method << " repeats all that it is given";
    }
  }
  expect_that_the_neighbour_is_served();
}

TEST_F(HostileCallersTest, WhoFloodsIsRefusedAndANeighbourIsServed) {
  begin({"--requests-per-second", "0.1", "--burst", "400"});
  const Person flooder = make_person("flooder");
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> floods;
    for (int i = 0; i < 8; ++i)
      floods.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const grpc::Status status = get(flooder, job_name("train"));
          if (status.error_code() == StatusCode::RESOURCE_EXHAUSTED) ++refused;
        }
      });
    for (int i = 0; i < 10; ++i) expect_that_the_neighbour_is_served();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (refused == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GT(refused, 0);
  }
  expect_that_the_neighbour_is_served();
}

TEST_F(HostileCallersTest, MessagesThatAreTooLargeOrTooDeepAreRefusedUnread) {
  begin({"--http-listen", "127.0.0.1:0"});
  const Person person = make_person("giant");
  for (const char* method : {"GetJob", "CreateJob", "WatchJobs"}) {
    const grpc::Status large = send(person, method, request_about(std::string(std::size_t{2} << 20, 'a')));
    EXPECT_EQ(large.error_code(), StatusCode::RESOURCE_EXHAUSTED) << method << ": " << large.error_message();
    // Groups of an unknown field, each within the one before.
    const grpc::Status deep = send(person, method, std::string(500'000, '\x7b'));
    EXPECT_FALSE(deep.ok()) << method;
    EXPECT_NE(deep.error_code(), StatusCode::UNAVAILABLE) << method << ": " << deep.error_message();
  }
  folder_.write("deep", std::string(500'000, '['));
  folder_.write("deep_field", R"({"spec":)" + std::string(100'000, '{'));
  folder_.write("token", "header = \"Authorization: Bearer " + person.token + "\"\n");
  const std::string port = http_address_.substr(http_address_.rfind(':') + 1);
  for (const char* body : {"deep", "deep_field"}) {
    const auto outcome = caravan::test::run_shell(
        fmt::format("curl -sS --cacert '{}' --config '{}' --resolve localhost:{}:127.0.0.1 -H 'Content-Type: "
                    "application/json' -o /dev/null -w '%{{http_code}}' --data-binary '@{}' "
                    "'https://localhost:{}/v1alpha1/{}/jobs'",
                    folder_.path("ca.crt"), folder_.path("token"), port, folder_.path(body), port, parent()));
    EXPECT_EQ(outcome.out, "400") << body << ": " << outcome.err;
  }
  expect_that_the_neighbour_is_served();
}

TEST_F(HostileCallersTest, ATokenThatIsChangedInAnyPartIsNobodys) {
  begin();
  make_account("ada", {"*"});
  const std::string real = full_token("ada");
  const std::size_t payload = real.find('.') + 1;
  const std::size_t signature = real.rfind('.') + 1;
  const std::string others = full_token("neighbour");
  const auto base64url = [](const std::string& text) {
    std::string encoded = kube::encode_base64(text);
    encoded.erase(encoded.find_last_not_of('=') + 1);
    return encoded;
  };
  const std::map<std::string, std::string> forged{
      {"unsigned", base64url(R"({"alg":"none"})") + "." + real.substr(payload, signature - payload)},
      {"without its signature", real.substr(0, signature)},
      {"with another's signature", real.substr(0, signature) + others.substr(others.rfind('.') + 1)},
      {"cut", real.substr(0, real.size() - 1)},
      {"twice", real + real},
      {"with more behind it, which the API server does not read", real + " x"}};
  for (const auto& [what, token] : forged) {
    const grpc::Status status = get(person(token), job_name("train"));
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << what << ": " << status.error_message();
  }
  EXPECT_TRUE(get(person(real), job_name("train")).ok());
}

// Where an answer goes on, what changed since and which version is meant are the caller's words.
TEST_F(HostileCallersTest, WhatWasToldOfOneListOpensNoOther) {
  begin();
  const Person person = make_person("ada");
  create_job("other");
  const Job other = await_job(person, "other");
  ListJobsRequest request;
  request.set_parent(parent());
  request.set_page_size(1);
  ListJobsResponse page;
  ASSERT_TRUE(person.stub->ListJobs(person.call().get(), request, &page).ok());
  ASSERT_NE(page.next_page_token(), "");
  request.set_page_token(page.next_page_token());
  request.set_parent("namespaces/kube-system");
  EXPECT_EQ(person.stub->ListJobs(person.call().get(), request, &page).error_code(),
            StatusCode::PERMISSION_DENIED);
  request.set_parent(parent());
  request.set_filter("state=Running");
  EXPECT_EQ(person.stub->ListJobs(person.call().get(), request, &page).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.clear_filter();
  for (const std::string& token :
       {std::string("garbage"), std::string(100'000, 'A'), kube::encode_base64(std::string(10'000, '['))}) {
    request.set_page_token(token);
    EXPECT_EQ(person.stub->ListJobs(person.call().get(), request, &page).error_code(),
              StatusCode::INVALID_ARGUMENT)
        << token.substr(0, 20);
  }
  SuspendJobRequest suspend;
  suspend.set_name(job_name("train"));
  suspend.set_etag(other.etag());
  Job job;
  EXPECT_EQ(person.stub->SuspendJob(person.call().get(), suspend, &job).error_code(), StatusCode::ABORTED);
  for (const char* token :
       {"-1", "1 OR 1", "../1", "99999999999999999999999999999999999999999999999999999999999999999"}) {
    WatchJobsRequest watch;
    watch.set_parent(parent());
    watch.set_resume_token(token);
    EXPECT_EQ(send(person, "WatchJobs", watch.SerializeAsString()).error_code(), StatusCode::INVALID_ARGUMENT)
        << token;
  }
}

TEST_F(HostileCallersTest, ConnectionsThatSayNothingOrHalfAndCallsThatAreTakenBackKeepNobodyOut) {
  begin({"--http-listen", "127.0.0.1:0"});
  std::vector<http::testing::Client> silent(300);
  const std::string_view half_a_hello("\x16\x03\x01\x02\x00\x01", 6);  // of TLS
  for (std::size_t i = 0; i < silent.size(); ++i) {
    silent[i].connect(i % 2 == 0 ? address_ : http_address_);
    if (i % 4 < 2) silent[i].send(half_a_hello);
  }
  expect_that_the_neighbour_is_served();
  const Person person = make_person("fickle");
  for (int i = 0; i < 1000; ++i) {
    GetJobRequest request;
    request.set_name(job_name("train"));
    Job job;
    const auto context = person.call();
    std::promise<void> ended;
    person.stub->async()->GetJob(context.get(), &request, &job,
                                 [&](const grpc::Status&) { ended.set_value(); });
    context->TryCancel();
    ended.get_future().wait();
  }
  expect_that_the_neighbour_is_served();
}

TEST_F(HostileCallersTest, WhoHoldsReflectionOpenTakesFewThreadsAndKeepsNobodyOut) {
  begin();
  grpc::ChannelArguments of_its_own;
  of_its_own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const int before = threads();
  std::list<ReflectionStream> streams;
  for (int connection = 0; connection < 3; ++connection) {
    const Person nobody = person("", {}, of_its_own);
    for (int i = 0; i < 100; ++i) streams.emplace_back(nobody.channel);
  }
  const auto answered = std::ranges::count_if(streams, &ReflectionStream::is_answered);
  EXPECT_GE(answered, 1);
  EXPECT_LE(answered, 32);
  EXPECT_LT(threads(), before + 100) << "for 300 streams";
  expect_that_the_neighbour_is_served();
}

// Absent: the watch goes on behind it.
std::optional<grpc::Status> read_what_is_there(grpc::ClientReader<WatchJobsResponse>& reader) {
  for (WatchJobsResponse next; reader.Read(&next);) {
    if (next.kind() == WatchJobsResponse::Complete) return std::nullopt;
  }
  return reader.Finish();
}

// Until that change is told; false: the watch has ended before.
bool read_until(grpc::ClientReader<WatchJobsResponse>& reader, int last_change, std::size_t& changes) {
  for (WatchJobsResponse next; reader.Read(&next);) {
    if (next.kind() == WatchJobsResponse::Changed) ++changes;
    const auto& annotations = next.job().object().metadata().annotations();
    const auto number = annotations.find("number");
    if (number != annotations.end() && number->second == std::to_string(last_change)) return true;
  }
  return false;
}

TEST_F(HostileCallersTest, AReaderWhoDoesNotReadKeepsNothingAndNobodyUp) {
  constexpr int kChanges = 700;  // more than buffers between him and the service take
  begin();
  make_account("idle", {"*"});
  grpc::ChannelArguments narrow;  // else the window that a neighbour's reading widens is his, too
  narrow.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const Person idle = person(full_token("idle"), {}, narrow);
  const Person neighbour = person(neighbour_);
  WatchJobsRequest request;
  request.set_parent(parent());
  // As long as all changes take, on a busy machine too.
  const auto call_of = [](const Person& one) {
    auto call = one.call();
    call->set_deadline(std::chrono::system_clock::now() + 10 * test::kPatience);
    return call;
  };
  const auto idle_call = call_of(idle);
  const auto idle_watch = idle.stub->WatchJobs(idle_call.get(), request);
  const auto idle_end = read_what_is_there(*idle_watch);
  ASSERT_FALSE(idle_end) << idle_end->error_message();
  const auto neighbours_call = call_of(neighbour);
  const auto neighbours_watch = neighbour.stub->WatchJobs(neighbours_call.get(), request);
  const auto neighbours_end = read_what_is_there(*neighbours_watch);
  ASSERT_FALSE(neighbours_end) << neighbours_end->error_message();
  std::size_t neighbours_changes = 0;
  auto neighbour_is_told = std::async(
      std::launch::async, [&] { return read_until(*neighbours_watch, kChanges, neighbours_changes); });
  for (int number = 1; number <= kChanges; ++number) {
    const kube::JsonObject annotations{{"number", std::to_string(number)},
                                       {"padding", std::string(1000, 'x')}};
    ASSERT_TRUE(
        server_
            .merge("/train", kube::JsonObject{{"metadata", kube::JsonObject{{"annotations", annotations}}}})
            .is_success());
  }
  EXPECT_TRUE(neighbour_is_told.get());
  std::size_t idle_changes = 0;
  EXPECT_TRUE(read_until(*idle_watch, kChanges, idle_changes)) << "he reads at last";
  EXPECT_LT(idle_changes, std::size_t{kChanges}) << "what did not wait in buffers was told once";
  idle_call->TryCancel();
  neighbours_call->TryCancel();
}

// A proxy before the service may have understood another end of the first request.
TEST_F(HostileCallersTest, NoRequestHidesInAnother) {
  begin({"--http-listen", "127.0.0.1:0"});
  const Person person = make_person("smuggler");
  const std::string hidden =
      fmt::format("DELETE /v1alpha1/{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
                  job_name("train"), person.token);
  const std::string body = "0\r\n\r\n" + hidden;
  const auto length = [](std::size_t bytes) { return fmt::format("Content-Length: {}\r\n", bytes); };
  const std::vector<std::string> lengths{length(body.size()) + "Transfer-Encoding: chunked\r\n",
                                         "Transfer-Encoding: chunked\r\n" + length(body.size()),
                                         "Transfer-Encoding: chunked\r\n",
                                         "Transfer-Encoding: identity, chunked\r\n" + length(body.size()),
                                         "Transfer-Encoding : chunked\r\n" + length(body.size()),
                                         length(5) + length(body.size()),
                                         fmt::format("Content-Length: 5, {}\r\n", body.size()),
                                         "Content-Length: +5\r\n",
                                         "Content-Length: 0x5\r\n",
                                         "Content-Length:\r\n 5\r\n"};
  std::vector<http::testing::TlsClient> clients;  // who stay connected
  for (const std::string& ambiguous : lengths) {
    http::testing::TlsClient client(http_address_, {.authority_pem = authority_.certificate_pem});
    client.send(fmt::format("POST /v1alpha1/{}:suspend HTTP/1.1\r\nHost: localhost\r\n{}\r\n{}",
                            job_name("train"), ambiguous, body));
    EXPECT_THAT(client.receive("\r\n\r\n"), ::testing::StartsWith("HTTP/1.1 4")) << ambiguous;
    client.send("\r\n");  // whatever was hidden is complete by now
    clients.push_back(std::move(client));
  }
  EXPECT_TRUE(get(person, job_name("train")).ok());
  EXPECT_THAT(log(), Not(::testing::HasSubstr("DeleteJob")));
}

TEST_F(HostileCallersTest, PortsForTheClusterAnswerWhateverOthersDoToThemAndTellNothingOfJobs) {
  begin();
  std::vector<http::testing::Client> silent(400);
  for (std::size_t i = 0; i < silent.size(); ++i) {
    silent[i].connect(i % 2 == 0 ? probes_ : metrics_);
    if (i % 4 < 2) silent[i].send("GET /met");
  }
  const auto ask = [](const std::string& address, const std::string& path) {
    return http::testing::ask(address,
                              fmt::format("GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path));
  };
  EXPECT_THAT(ask(probes_, "/healthz"), ::testing::StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(probes_, "/readyz"), ::testing::StartsWith("HTTP/1.1 200 "));
  const std::string metrics = ask(metrics_, "/metrics");
  EXPECT_THAT(metrics, ::testing::AllOf(::testing::StartsWith("HTTP/1.1 200 "),
                                        ::testing::HasSubstr("caravan_service_")));
  EXPECT_THAT(metrics, Not(::testing::AnyOf(::testing::HasSubstr(server_.name_space()),
                                            ::testing::HasSubstr("neighbour"))));
  for (const std::string& address : {probes_, metrics_}) {
    for (const char* path :
         {"/v1alpha1/namespaces/default/jobs", "/../etc/passwd", "/metrics/../healthz", "/debug/pprof"})
      EXPECT_THAT(ask(address, path), ::testing::StartsWith("HTTP/1.1 404 ")) << address << path;
  }
  expect_that_the_neighbour_is_served();
}

}  // namespace
}  // namespace caravan::service::testing
