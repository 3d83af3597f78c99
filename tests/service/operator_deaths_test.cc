// The operator is killed right after each method of the job service that changes something, and the same
// request is sent again before there is another operator: nothing is there twice, and nothing stays half
// done.
#include <fcntl.h>

#include <cstdlib>
#include <thread>

#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "operator/api/names.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using namespace v1alpha1;

using test::kPatience;

class OperatorDeathsTest : public ServiceProgram {
 protected:
  OperatorDeathsTest() { kube::testing::make_lease(server_.client(), {server_.name_space(), kLease}); }

  void start_operator() {
    const std::string& name_space = server_.name_space();
    const UniqueFd log(
        open(folder_.path("operator").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    operator_ = Process::spawn(
                    {.program = ::caravan::test::program_folder() + "/caravan-operator",
                     .arguments = {"--kubeconfig", std::getenv("KUBECONFIG"), "--namespace", name_space,
                                   "--lease-namespace", name_space, "--retry-seconds", "1", "--worker-image",
                                   "worker:test", "--reports-address", "127.0.0.1:9443", "--reports-listen",
                                   "127.0.0.1:0", "--probes", "127.0.0.1:0", "--metrics", "127.0.0.1:0"},
                     .stderr_fd = log.get()})
                    .value();
  }

  // The next one need not wait until the lease is over.
  void kill_operator() {
    operator_.reset();
    const kube::Json free = kube::JsonObject{{"spec", kube::JsonObject{{"holderIdentity", ""}}}};
    const kube::ResourcePath leases{.resource = kube::kLeases, .name_space = server_.name_space()};
    const auto freed = server_.client().merge({}, leases, kLease, free);
    EXPECT_TRUE(freed) << freed.error().message;
  }

  // The request, the operator's death, the same request, and the next operator.
  template <typename Request, typename Response>
  void around_a_death(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const Request& request, Response& first, Response& second) {
    const auto send = [&](Response& answer) {
      const grpc::Status status = (editor_->stub.get()->*method)(editor_->call().get(), request, &answer);
      EXPECT_TRUE(status.ok()) << request.GetTypeName() << ": " << status.error_message();
    };
    send(first);
    kill_operator();
    send(second);
    start_operator();
  }
  template <typename Request>
  Job twice(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Job*), Request request) {
    request.set_name(job_name("train"));
    Job first;
    Job second;
    around_a_death(method, request, first, second);
    EXPECT_EQ(first.uid(), second.uid());
    return second;
  }

  CreateJobRequest creation(const std::string& name) {
    CreateJobRequest request;
    request.set_parent(parent());
    request.set_request_id("5f0c-" + name);
    *request.mutable_job() = job(name);
    JobSpec& spec = *request.mutable_job()->mutable_spec();
    spec.mutable_checkpoint()->set_claim_name("states");
    spec.mutable_checkpoint()->set_path(name);
    spec.mutable_resources()->mutable_device()->set_memory("4Gi");
    return request;
  }
  void create(const std::string& name) {
    Job created;
    const grpc::Status status = editor_->stub->CreateJob(editor_->call().get(), creation(name), &created);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  std::vector<std::string> names_of(const kube::Resource& resource) {
    const auto list =
        server_.client().list({}, {.resource = resource, .name_space = server_.name_space()}, {});
    std::vector<std::string> names;
    if (!list) ADD_FAILURE() << list.error().message;
    for (const kube::Json& object : list ? list->items : kube::JsonArray())
      names.emplace_back(kube::key_of(object).name);
    return names;
  }
  template <typename Condition>
  void await(const std::string& what, Condition holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (; !holds(); std::this_thread::sleep_for(std::chrono::milliseconds(50)))
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain: " << what << "\n"
                                                       << ::caravan::test::contents(folder_.path("operator"));
  }
  // Nothing collects here what a deleted job has left: its pod stays, and no other is made beside that of a
  // job that comes after it.
  void delete_one_and_create_another() {
    create("victim");
    await("a pod of the job that is to be deleted", [&] { return !names_of(kube::kPods).empty(); });
    DeleteJobRequest removal;
    removal.set_name(job_name("victim"));
    removal.set_allow_missing(true);
    DeleteJobResponse gone;
    around_a_death(&Stub::DeleteJob, removal, gone, gone);
    create("later");
    await("a pod of the job that comes after it", [&] { return names_of(kube::kPods).size() > 1; });
    EXPECT_THAT(names_of(kube::kPods), UnorderedElementsAre(StartsWith("later-"), StartsWith("victim-")));
  }
  std::string state() { return await_job(*editor_, "train").object().status().state(); }

  static constexpr char kLease[] = "caravan-operator";
  std::optional<Process> operator_;
  std::optional<Person> editor_;
};

TEST_F(OperatorDeathsTest, AfterEachMethodLeaveNothingTwiceAndNothingHalfDone) {
  start();
  make_account("editor", {"*"});
  editor_ = person(full_token("editor"));
  start_operator();

  Job first;
  Job second;
  around_a_death(&Stub::CreateJob, creation("train"), first, second);
  EXPECT_EQ(first.uid(), second.uid());
  await("a pod", [&] { return !names_of(kube::kPods).empty(); });
  EXPECT_THAT(names_of(kube::kPods), SizeIs(1));
  EXPECT_THAT(names_of(controller::kJobs), SizeIs(1));

  twice(&Stub::SuspendJob, SuspendJobRequest());
  await("no pods of a job that is suspended",
        [&] { return state() == "Suspended" && names_of(kube::kPods).empty(); });

  twice(&Stub::ResumeJob, ResumeJobRequest());
  await("pods again", [&] { return !names_of(kube::kPods).empty(); });
  EXPECT_THAT(names_of(kube::kPods), SizeIs(1));

  CheckpointNowRequest checkpoint;
  checkpoint.set_request_id("now-1");
  const Job asked = twice(&Stub::CheckpointNow, checkpoint);
  EXPECT_EQ(asked.object().metadata().annotations().at(controller::annotations::kCheckpoint), "now-1");
  EXPECT_THAT(names_of(kube::kPods), SizeIs(1));

  twice(&Stub::CancelJob, CancelJobRequest());
  await("the end of a job that is cancelled",
        [&] { return state() == "Failed" && names_of(kube::kPods).empty(); });

  delete_one_and_create_another();
  EXPECT_THAT(names_of(controller::kJobs), UnorderedElementsAre("later", "train"));
}

}  // namespace
}  // namespace caravan::service::testing
