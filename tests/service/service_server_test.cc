// The job service's program against a real API server: who may what, and what a method leaves behind.
#include <fmt/format.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/generic/generic_stub.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include "common/json.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "http/testing/client.h"
#include "operator/api/cancellation.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {
namespace {

using grpc::StatusCode;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace v1alpha1;

std::string reason_of(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return "no details";
  google::rpc::ErrorInfo info;
  for (const auto& detail : details.details()) {
    if (detail.UnpackTo(&info)) return info.domain() == "training.caravan.dev" ? info.reason() : "bad domain";
  }
  return "no ErrorInfo";
}

// HealthCheckResponse in protobuf's bytes.
constexpr char kNotServing[] = "\x08\x02";

using Method = std::function<grpc::Status(const Person&)>;

template <typename Request, typename Response>
Method named(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
             const std::string& name) {
  return [=](const Person& person) {
    Request request;
    request.set_name(name);
    Response response;
    return (person.stub.get()->*method)(person.call().get(), request, &response);
  };
}

class ServiceServerTest : public ServiceProgram {
 protected:
  std::map<std::string, Method> reads() {
    const std::string name = job_name("train");
    return {{"GetJob", named<GetJobRequest, Job>(&Stub::GetJob, name)},
            {"ListJobs",
             [this](const Person& person) {
               ListJobsRequest request;
               request.set_parent(parent());
               ListJobsResponse response;
               return person.stub->ListJobs(person.call().get(), request, &response);
             }},
            {"ListCheckpoints",
             [name](const Person& person) {
               ListCheckpointsRequest request;
               request.set_parent(name);
               ListCheckpointsResponse response;
               return person.stub->ListCheckpoints(person.call().get(), request, &response);
             }},
            {"WatchJobs", [this](const Person& person) {
               WatchJobsRequest request;
               request.set_parent(parent());
               const auto context = person.call();
               const auto stream = person.stub->WatchJobs(context.get(), request);
               WatchJobsResponse response;
               if (!stream->Read(&response)) return stream->Finish();
               context->TryCancel();
               static_cast<void>(stream->Finish());
               return grpc::Status::OK;
             }}};
  }
  // Made with the caller's own token, as the writes.
  Method list_events() {
    return [name = job_name("train")](const Person& person) {
      ListEventsRequest request;
      request.set_parent(name);
      ListEventsResponse response;
      return person.stub->ListEvents(person.call().get(), request, &response);
    };
  }
  std::map<std::string, Method> writes() {
    const std::string name = job_name("train");
    return {{"EstimateJob",
             [this](const Person& person) {
               EstimateJobRequest request;
               request.set_parent(parent());
               *request.mutable_job() = job("");
               EstimateJobResponse response;
               return person.stub->EstimateJob(person.call().get(), request, &response);
             }},
            {"GetCapacity",
             [this](const Person& person) {
               GetCapacityRequest request;
               request.set_parent(parent());
               Capacity response;
               return person.stub->GetCapacity(person.call().get(), request, &response);
             }},
            {"CreateJob", [this](const Person& person) { return create(person, "other", "", true).first; }},
            {"SuspendJob", named<SuspendJobRequest, Job>(&Stub::SuspendJob, name)},
            {"ResumeJob", named<ResumeJobRequest, Job>(&Stub::ResumeJob, name)},
            {"CancelJob", named<CancelJobRequest, Job>(&Stub::CancelJob, name)},
            {"CheckpointNow", named<CheckpointNowRequest, Job>(&Stub::CheckpointNow, name)},
            {"DeleteJob", [this](const Person& person) { return remove(person, job_name("victim")); }}};
  }

  // As gRPC's health service tells it.
  std::string health() {
    const Person nobody = person("");
    grpc::GenericStub stub(nobody.channel);
    const grpc::Slice nothing("");
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    const auto context = nobody.call();
    std::promise<grpc::Status> ended;
    stub.UnaryCall(context.get(), "/grpc.health.v1.Health/Check", {}, &request, &response,
                   [&](const grpc::Status& status) { ended.set_value(status); });
    const grpc::Status status = ended.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice told;
    static_cast<void>(response.DumpToSingleSlice(&told));
    return {reinterpret_cast<const char*>(told.begin()), told.size()};
  }
  // As the API server has it.
  std::string version_of_train() {
    return kube::version_of(server_.client().get({}, server_.jobs(), "train").value_or(kube::Json()));
  }
  std::pair<grpc::Status, Job> create(const Person& person, const std::string& name,
                                      const std::string& request_id, bool validate_only = false) {
    CreateJobRequest request;
    request.set_parent(parent());
    *request.mutable_job() = job(name);
    request.set_request_id(request_id);
    request.set_validate_only(validate_only);
    Job created;
    grpc::Status status = person.stub->CreateJob(person.call().get(), request, &created);
    return {std::move(status), std::move(created)};
  }
  grpc::Status remove(const Person& person, const std::string& name, const std::string& etag = "") {
    DeleteJobRequest request;
    request.set_name(name);
    request.set_etag(etag);
    DeleteJobResponse response;
    return person.stub->DeleteJob(person.call().get(), request, &response);
  }
  Person make_person(const std::string& account, const std::vector<std::string>& verbs) {
    make_account(account, verbs);
    return person(full_token(account));
  }
  void make_event(const std::string& name, const std::string& kind, const std::string& about,
                  const std::string& time) {
    const kube::Json event = kube::JsonObject{
        {"apiVersion", "events.k8s.io/v1"},
        {"kind", "Event"},
        {"metadata", kube::JsonObject{{"name", name}}},
        {"eventTime", time},
        {"type", "Normal"},
        {"reason", "Told"},
        {"action", "Tell"},
        {"note", name},
        {"reportingController", "training.caravan.dev/test"},
        {"reportingInstance", "test"},
        {"regarding",
         kube::JsonObject{{"kind", kind}, {"name", about}, {"namespace", server_.name_space()}}}};
    const auto made =
        server_.client().create({}, {.resource = kube::kEvents, .name_space = server_.name_space()}, event);
    if (!made) ADD_FAILURE() << made.error().message;
  }
  std::string shown_certificate() {
    const std::string file = folder_.path("shown");
    const std::string command = fmt::format(
        "openssl s_client -alpn h2 -connect {} </dev/null 2>/dev/null | openssl x509 -noout -serial >{} 2>&1",
        address_, file);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return ::caravan::test::contents(file);
  }
  Person make_editor() {
    return make_person("editor", {"get", "list", "watch", "create", "update", "patch", "delete"});
  }
};

TEST_F(ServiceServerTest, NobodyMayWhatHeCouldNotDoWithKubectl) {
  start();
  const Person viewer = make_person("viewer", {"get", "list", "watch"});
  const Person admin = make_person("admin", {"*"});
  const Person editor = make_editor();
  const Person stranger = make_person("stranger", {});
  create_job("train");
  await_job(viewer, "train");
  for (const auto& [name, method] : reads()) {
    for (const Person* may : {&admin, &editor, &viewer}) {
      const grpc::Status status = method(*may);
      EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    }
    const grpc::Status refused = method(stranger);
    EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED) << name << ": " << refused.error_message();
    EXPECT_EQ(reason_of(refused), "FORBIDDEN") << name;
  }
  for (const auto& [name, method] : writes()) {
    for (const Person* may_not : {&viewer, &stranger}) {
      const grpc::Status refused = method(*may_not);
      EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED)
          << name << ": " << refused.error_message();
    }
    for (const Person* may : {&admin, &editor}) {
      if (name == "DeleteJob") create_job("victim");
      const grpc::Status status = method(*may);
      EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
    }
  }
  for (const Person* may : {&admin, &editor, &viewer}) {
    const grpc::Status status = list_events()(*may);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(list_events()(stranger).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(log(), HasSubstr(R"("audit":"SuspendJob")"));
  EXPECT_EQ(log().find(editor.token), std::string::npos) << "no token in any line";
}

TEST_F(ServiceServerTest, WhoMayMakeJobsButNoPodsMakesNeither) {
  start();
  make_account("planner", {"get", "create"}, {.on_pods = {{"get"}}});
  const Person planner = person(full_token("planner"));
  const auto [status, created] = create(planner, "train", "");
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("may not create pods"));
}

TEST_F(ServiceServerTest, WithoutAGoodTokenNobodyIsLetIn) {
  start();
  make_account("ada", {"get", "list", "watch"});
  make_account("gone", {"get"});
  const std::string of_the_gone = full_token("gone");
  remove_account("gone");
  const std::map<std::string, std::string> bad{{"none", ""},
                                               {"another audience", token("ada", {"other"})},
                                               {"only the API server's", token("ada", {kServerAudience})},
                                               {"of a deleted account", of_the_gone},
                                               {"garbage", "garbage"},
                                               {"too long", std::string(20'000, 'a')}};
  for (const auto& [what, shown] : bad) {
    for (const auto& [name, method] : reads()) {
      const grpc::Status status = method(person(shown));
      EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED)
          << name << ", " << what << status.error_message();
      EXPECT_THAT(reason_of(status), AnyOf("NO_CREDENTIALS", "BAD_TOKEN")) << what;
    }
  }
}

TEST_F(ServiceServerTest, EachCallThatWouldChangeSomethingLeavesALineHoweverItEnds) {
  start({"--requests-per-second", "0.1", "--burst", "8"});
  const Person editor = make_editor();
  const Person stranger = make_person("stranger", {});
  const auto lines = [this](const std::string& user, const std::string& outcome) {
    const std::string shown =
        user.empty() ? "" : "system:serviceaccount:" + server_.name_space() + ":" + user;
    const std::regex line(
        fmt::format(R"re("audit":"\w+","time":"[^"]+","user":"{}",[^\n]*"outcome":"{}")re", shown, outcome));
    const std::string text = log();
    return std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator());
  };
  EXPECT_TRUE(create(editor, "train", "").first.ok());
  EXPECT_FALSE(create(editor, "Train!", "").first.ok());
  EXPECT_FALSE(create(editor, "train", "").first.ok());
  EXPECT_FALSE(remove(stranger, job_name("train")).ok());
  EXPECT_FALSE(remove(person("garbage"), job_name("train")).ok());
  EXPECT_EQ(lines("editor", "OK"), 1);
  EXPECT_EQ(lines("editor", "INVALID_ARGUMENT"), 1);
  EXPECT_EQ(lines("editor", "ALREADY_EXISTS"), 1);
  EXPECT_EQ(lines("stranger", "PERMISSION_DENIED"), 1);
  EXPECT_EQ(lines("", "UNAUTHENTICATED"), 1);
  for (int i = 0; i < 100 && create(editor, "train", "").first.error_code() != StatusCode::RESOURCE_EXHAUSTED;
       ++i) {
  }
  EXPECT_EQ(lines("editor", "RESOURCE_EXHAUSTED"), 1);
}

TEST_F(ServiceServerTest, ATokenOfOurAudienceAloneReadsAndWritesNothing) {
  start();
  make_account("ada", {"*"});
  create_job("train");
  const Person ada = person(token("ada", {"caravan"}));
  await_job(ada, "train");
  for (const auto& [name, method] : writes()) {
    if (name == "EstimateJob" || name == "GetCapacity") continue;  // which write nothing
    const grpc::Status status = method(ada);
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << name;
    EXPECT_EQ(reason_of(status), "TOKEN_AUDIENCE") << name;
    EXPECT_THAT(status.error_message(), HasSubstr("kubectl create token")) << name;
  }
}

TEST_F(ServiceServerTest, ACertificateReadsAndIsNotPassedOn) {
  start({"--client-ca", folder_.path("ca.crt")});
  make_account("ada", {"*"});
  create_job("train");
  const CertificateRequest request{.common_name = "system:serviceaccount:" + server_.name_space() + ":ada",
                                   .for_server = false,
                                   .for_client = true};
  const Person ada = person("", issue_certificate(authority_, request).value());
  await_job(ada, "train");
  const auto [status, created] = create(ada, "other", "");
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(reason_of(status), "CERTIFICATE_ONLY");
  const KeyPair foreign = make_authority("foreign", std::chrono::hours(1)).value();
  const Person forger = person("", issue_certificate(foreign, request).value());
  EXPECT_FALSE(reads()["GetJob"](forger).ok()) << "signed by somebody else";
}

TEST_F(ServiceServerTest, TheSameRequestMakesOneJobHoweverOftenAndWheneverItComes) {
  start();
  const Person editor = make_editor();
  constexpr int kAtOnce = 8;
  std::vector<std::pair<grpc::Status, Job>> answers(kAtOnce);
  {
    std::vector<std::jthread> senders;
    for (auto& answer : answers) senders.emplace_back([&] { answer = create(editor, "train", "5f0c-1"); });
  }
  std::set<std::string> uids;
  for (const auto& [status, created] : answers) {
    EXPECT_TRUE(status.ok()) << status.error_message();
    uids.insert(created.uid());
  }
  EXPECT_EQ(uids.size(), 1u);
  EXPECT_EQ(create(editor, "train", "5f0c-2").first.error_code(), StatusCode::ALREADY_EXISTS);
  CreateJobRequest request;
  request.set_parent(parent());
  *request.mutable_job() = job("");
  request.mutable_job()->mutable_metadata()->set_generate_name("run-");
  request.set_request_id("5f0c-3");
  std::set<std::string> names;
  for (int i = 0; i < 3; ++i) {
    Job created;
    const grpc::Status status = editor.stub->CreateJob(editor.call().get(), request, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();
    names.insert(created.name());
  }
  EXPECT_EQ(names.size(), 1u);
  EXPECT_THAT(*names.begin(), HasSubstr("/jobs/run-"));
}

TEST_F(ServiceServerTest, EveryMistakeOfAJobIsToldWithItsField) {
  start();
  const Person editor = make_editor();
  CreateJobRequest request;
  request.set_parent(parent());
  *request.mutable_job() = job("train");
  request.mutable_job()->mutable_spec()->mutable_training()->set_steps(0);
  request.mutable_job()->mutable_spec()->mutable_model()->set_preset("llama-9");
  Job created;
  const grpc::Status status = editor.stub->CreateJob(editor.call().get(), request, &created);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::BadRequest bad;
  std::set<std::string> fields;
  for (const auto& detail : details.details()) {
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) fields.insert(violation.field());
  }
  EXPECT_EQ(fields, (std::set<std::string>{"job.spec.model.preset", "job.spec.training.steps"}))
      << status.error_message();
}

TEST_F(ServiceServerTest, ToldToEndItIsNotReadyAndTakesCallsUntilItIsToldAgain) {
  setenv("CARAVAN_DRAIN_SECONDS", "600", /*overwrite=*/1);  // as the chart does
  start();
  unsetenv("CARAVAN_DRAIN_SECONDS");
  const Person editor = make_editor();
  create_job("train");
  await_job(editor, "train");
  const auto ready = [this] {
    return http::testing::ask(probes_, "GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  };
  EXPECT_THAT(ready(), HasSubstr(" 200 "));
  program_->signal_group(SIGTERM);
  test::await([&] { return ready().find(" 503 ") != std::string::npos; });
  const grpc::Status served = reads()["GetJob"](editor);
  EXPECT_TRUE(served.ok()) << served.error_message();
  EXPECT_EQ(health(), kNotServing);
  program_->signal_group(SIGTERM);
  EXPECT_EQ(program_->wait().exit_code, static_cast<int>(ExitCode::kInterrupted));
}

TEST_F(ServiceServerTest, ItEndsByItselfWhenItHasTakenCallsForLongEnough) {
  start({"--drain-seconds", "1"});
  program_->signal_group(SIGTERM);
  EXPECT_EQ(program_->wait().exit_code, 0);
}

TEST_F(ServiceServerTest, AFieldThatOnlyANewerClientKnowsIsNotLostWithoutAWord) {
  start();
  const Person editor = make_editor();
  LlamaTrainingJob newer = job("train");
  Training& training = *newer.mutable_spec()->mutable_training();
  training.GetReflection()->MutableUnknownFields(&training)->AddVarint(99, 1);
  CreateJobRequest creation;
  creation.set_parent(parent());
  *creation.mutable_job() = newer;
  Job created;
  EstimateJobRequest question;
  question.set_parent(parent());
  *question.mutable_job() = newer;
  EstimateJobResponse estimate;
  for (const grpc::Status& status : {editor.stub->CreateJob(editor.call().get(), creation, &created),
                                     editor.stub->EstimateJob(editor.call().get(), question, &estimate)}) {
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("job.spec.training: has field 99, which this service"));
  }
  EXPECT_EQ(version_of_train(), "") << "a job without it is another one";
}

TEST_F(ServiceServerTest, AWriteThatNamesAnOlderVersionChangesNothing) {
  start();
  const Person editor = make_editor();
  const auto [status, created] = create(editor, "train", "");
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(writes()["SuspendJob"](editor).ok());
  const grpc::Status stale = remove(editor, job_name("train"), created.etag());
  EXPECT_EQ(stale.error_code(), StatusCode::ABORTED) << stale.error_message();
  EXPECT_EQ(reason_of(stale), "STALE_ETAG");
  Job now = await_job(editor, "train");
  CancelJobRequest request;
  request.set_name(job_name("train"));
  request.set_etag(created.etag());
  Job cancelled;
  EXPECT_EQ(editor.stub->CancelJob(editor.call().get(), request, &cancelled).error_code(),
            StatusCode::ABORTED);
  request.clear_etag();
  EXPECT_TRUE(editor.stub->CancelJob(editor.call().get(), request, &cancelled).ok());
  EXPECT_EQ(cancelled.object().metadata().annotations().at(controller::annotations::kCancel),
            controller::kCancelled);
}

TEST_F(ServiceServerTest, NothingIsAskedOfAJobThatHasEnded) {
  start();
  const Person editor = make_editor();
  create_job("train");
  await_job(editor, "train");
  const kube::JsonObject failed{{"type", "Failed"}, {"status", "True"}, {"reason", "BackoffLimit"}};
  const kube::JsonObject status{{"state", "Failed"}, {"conditions", kube::JsonArray{failed}}};
  const auto written =
      server_.client().merge_status({}, {.resource = controller::kJobs, .name_space = server_.name_space()},
                                    "train", kube::JsonObject{{"status", status}});
  ASSERT_TRUE(written) << written.error().message;
  for (const char* method : {"SuspendJob", "ResumeJob", "CancelJob", "CheckpointNow"}) {
    const grpc::Status refused = writes()[method](editor);
    EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION) << method;
    EXPECT_EQ(reason_of(refused), "JOB_FINISHED") << method;
    EXPECT_EQ(version_of_train(), kube::version_of(*written)) << method << " has written before it refused";
  }
}

TEST_F(ServiceServerTest, ACheckpointIsOfAJobThatKeepsAny) {
  start();
  const Person editor = make_editor();
  const auto [status, created] = create(editor, "train", "");
  ASSERT_TRUE(status.ok()) << status.error_message();
  const grpc::Status refused = writes()["CheckpointNow"](editor);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION) << refused.error_message();
  EXPECT_EQ(reason_of(refused), "NO_CHECKPOINTS");
  EXPECT_EQ(version_of_train(), created.etag()) << "no request for a checkpoint is left in it";
}

TEST_F(ServiceServerTest, AnEstimateIsWhatCaravanPlanPrints) {
  start();
  const Person editor = make_editor();
  EstimateJobRequest request;
  request.set_parent(parent());
  LlamaTrainingJob& job = *request.mutable_job();
  job = ServiceProgram::job("train");
  job.set_api_version("training.caravan.dev/v1alpha1");
  job.set_kind(controller::kKind);
  job.mutable_spec()->mutable_resources()->mutable_device()->set_kind(Device::GPU);
  job.mutable_spec()->mutable_resources()->mutable_device()->set_product("A100-80GB");
  EstimateJobResponse response;
  const grpc::Status status = editor.stub->EstimateJob(editor.call().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  folder_.write("job.json", to_json(job));
  const auto plan = caravan::test::run_shell(fmt::format(
      "'{}/caravan' plan '{}' -o json", caravan::test::program_folder(), folder_.path("job.json")));
  EXPECT_EQ(to_json(response.estimates(0).report(), JsonLayout::kIndented) + "\n", plan.out) << plan.err;
}

TEST_F(ServiceServerTest, AWatchTellsWhatIsThenWhatChangesAndGoesOnWhereItWas) {
  start();
  const Person editor = make_editor();
  create_job("first");
  await_job(editor, "first");
  WatchJobsRequest request;
  request.set_parent(parent());
  const auto next = [](grpc::ClientReader<WatchJobsResponse>& stream) {
    WatchJobsResponse response;
    do {
      if (!stream.Read(&response)) return std::pair(std::string("the end"), response);
    } while (response.kind() == WatchJobsResponse::Heartbeat);
    return std::pair(
        fmt::format("{} {}", WatchJobsResponse::Kind_Name(response.kind()), response.job().name()), response);
  };
  std::string token;
  {
    const auto context = editor.call();
    const auto stream = editor.stub->WatchJobs(context.get(), request);
    EXPECT_EQ(next(*stream).first, "Changed " + job_name("first"));
    EXPECT_EQ(next(*stream).first, "Complete ");
    create_job("second");
    const auto [told, response] = next(*stream);
    EXPECT_EQ(told, "Changed " + job_name("second"));
    token = response.resume_token();
    context->TryCancel();
    static_cast<void>(stream->Finish());
  }
  EXPECT_TRUE(remove(editor, job_name("first")).ok());
  request.set_resume_token(token);
  const auto context = editor.call();
  const auto stream = editor.stub->WatchJobs(context.get(), request);
  std::string told = next(*stream).first;
  if (told == "Changed " + job_name("second")) told = next(*stream).first;  // may be told twice
  EXPECT_EQ(told, "Gone " + job_name("first"));
  context->TryCancel();
  static_cast<void>(stream->Finish());
  WatchJobsRequest too_old = request;
  too_old.set_resume_token("1");
  const auto refused_context = editor.call();
  const auto refused = editor.stub->WatchJobs(refused_context.get(), too_old);
  EXPECT_EQ(next(*refused).first, "the end");
  EXPECT_EQ(refused->Finish().error_code(), StatusCode::OUT_OF_RANGE);
}

TEST_F(ServiceServerTest, EventsAreThoseOfTheJobAndItsPodsTheOldestFirst) {
  start();
  const Person viewer = make_person("viewer", {"get", "list", "watch"});
  make_event("late", "Pod", "train-0-a1", "2030-01-02T00:00:00.000000Z");
  make_event("early", "LlamaTrainingJob", "train", "2030-01-01T00:00:00.000000Z");
  make_event("foreign", "LlamaTrainingJob", "train-0-a1", "2030-01-01T00:00:00.000000Z");
  make_event("also-foreign", "Pod", "train-0-a1-b", "2030-01-01T00:00:00.000000Z");
  ListEventsRequest request;
  request.set_parent(job_name("train"));
  ListEventsResponse response;
  const grpc::Status status = viewer.stub->ListEvents(viewer.call().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::vector<std::string> told;
  for (const JobEventRecord& event : response.events()) told.push_back(event.about() + " " + event.message());
  EXPECT_THAT(told, ElementsAre("LlamaTrainingJob/train early", "Pod/train-0-a1 late"));
}

TEST_F(ServiceServerTest, AWatchEndsSoonAfterTheRightToIt) {
  start();
  const Person viewer = make_person("viewer", {"get", "list", "watch"});
  create_job("train");
  await_job(viewer, "train");
  WatchJobsRequest request;
  request.set_parent(parent());
  const auto context = viewer.call();
  const auto stream = viewer.stub->WatchJobs(context.get(), request);
  WatchJobsResponse response;
  ASSERT_TRUE(stream->Read(&response));
  remove_rights("viewer");
  while (stream->Read(&response)) {
  }
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
}

TEST_F(ServiceServerTest, ACertificateThatIsReplacedIsShownWithoutARestart) {
  start();
  const std::string before = shown_certificate();
  renew_certificate();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (shown_certificate() == before) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the old certificate is still shown";
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

TEST_F(ServiceServerTest, NothingBelowTls13IsSpokenAndNothingStartsWithoutAKey) {
  start();
  const auto speaks = [this](const std::string& version) {
    const std::string command =
        fmt::format("openssl s_client -alpn h2 -connect {} -CAfile {} {} </dev/null >/dev/null 2>&1",
                    address_, folder_.path("ca.crt"), version);
    return std::system(command.c_str()) == 0;
  };
  EXPECT_TRUE(speaks("-tls1_3"));
  EXPECT_FALSE(speaks("-tls1_2"));
  EXPECT_FALSE(speaks("-tls1_2 -cipher ALL:COMPLEMENTOFALL:@SECLEVEL=0"));
  auto refused =
      Process::spawn({.program = ::caravan::test::program_folder() + "/caravan-service",
                      .arguments = {"--kubeconfig", std::getenv("KUBECONFIG"), "--tls-certificate",
                                    folder_.path("tls.crt"), "--tls-key", folder_.path("ca.crt")}});
  EXPECT_EQ(refused->wait().exit_code, 2);
}

}  // namespace
}  // namespace caravan::service::testing
