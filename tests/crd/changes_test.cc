// What the real API server lets a user and the operator change.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/crd/job_server.h"

namespace caravan::kube::testing {
namespace {

constexpr const char* kFixed = "may not change after creation; create another job";
constexpr const char* kWhileSuspended = "may change only while spec.suspend is true";

// {"spec": {"a": {"b": value}}} from "spec.a.b".
Json at(std::string_view path, Json value) {
  const std::size_t dot = path.find('.');
  const std::string_view head = path.substr(0, dot);
  Json inner = dot == std::string_view::npos ? std::move(value) : at(path.substr(dot + 1), std::move(value));
  return JsonObject{{head, std::move(inner)}};
}

Json condition(const std::string& type, const std::string& status) {
  return JsonObject{{"type", type}, {"status", status}};
}

Json status_intent(const Json& condition) {
  return JsonObject{{"apiVersion", "training.caravan.dev/v1alpha1"},
                    {"kind", "LlamaTrainingJob"},
                    {"status", JsonObject{{"conditions", JsonArray{condition}}}}};
}

class JobChanges : public ::testing::Test {
 protected:
  JobChanges() {
    const Answer created = server_.create(contents_of("tests/crd/jobs/running.yaml"));
    EXPECT_TRUE(created.is_success()) << created.message();
  }

  Answer change(std::string_view path, Json value) {
    return server_.merge("/running", at(path, std::move(value)));
  }
  void suspend() {
    const Answer answer = change("spec.suspend", true);
    EXPECT_TRUE(answer.is_success()) << answer.message();
  }

  JobServer server_;
};

TEST_F(JobChanges, OfWhatIsTrainedAreRefused) {
  const std::vector<std::pair<std::string, Json>> changes = {
      {"spec.model.preset", "llama-mini"},
      {"spec.data.path", "other.bin"},
      {"spec.training.steps", 200},
      {"spec.training.optimizer.beta1", "0.8"},
      {"spec.training.seed", 2},
      {"spec.resources.devices", 8},
      {"spec.parallelism.tensor", 2},
      {"spec.parallelism.schedule", "GPipe"},
      {"spec.data.validationPath", "valid.bin"},
      {"spec.managedBy", "somebody"},
  };
  for (const bool suspended : {false, true}) {
    if (suspended) suspend();
    for (const auto& [path, value] : changes) {
      const Answer answer = change(path, value);
      const std::string field = path.substr(0, path.find('.', std::string("spec.").size()));
      EXPECT_TRUE(answer.refuses(field, kFixed)) << path << ": " << answer.message();
    }
  }
}

TEST_F(JobChanges, ThatLeaveAFieldOutAreRefused) {
  const Answer answer = change("spec.data.claimName", nullptr);
  EXPECT_TRUE(answer.refuses("spec.data", kFixed)) << answer.message();
}

TEST_F(JobChanges, OfTheFieldsThatMayAlwaysChangeAreAccepted) {
  const std::vector<std::pair<std::string, Json>> changes = {
      {"spec.stallTimeoutSeconds", 60},
      {"spec.logEverySeconds", 0},
      {"spec.activeDeadlineSeconds", 3600},
      {"spec.activeDeadlineSeconds", nullptr},
      {"spec.ttlSecondsAfterFinished", 0},
      {"spec.failurePolicy.maxRestarts", 0},
      {"spec.failurePolicy.windowSeconds", 60},
      {"spec.failurePolicy.rules", JsonArray{JsonObject{{"onReason", "PodLost"}, {"action", "Fail"}}}},
      {"spec.suspend", true},
      {"spec.suspend", false},
      {"metadata.labels.team", "a"},
  };
  for (const auto& [path, value] : changes) {
    const Answer answer = change(path, value);
    EXPECT_TRUE(answer.is_success()) << path << ": " << answer.message();
  }
}

TEST_F(JobChanges, OfWorkersNeedASuspendedJob) {
  for (const auto& [path, value] : std::vector<std::pair<std::string, Json>>{
           {"spec.worker.image", "registry.example/caravan:2"},
           {"spec.scheduling.topology", JsonObject{{"mode", "Required"}, {"key", "rack"}}}}) {
    const std::string field = path.substr(0, path.rfind('.'));
    const Answer running = change(path, value);
    EXPECT_TRUE(running.refuses(field, kWhileSuspended)) << running.message();
    suspend();
    const Answer suspended = change(path, value);
    EXPECT_TRUE(suspended.is_success()) << suspended.message();
    EXPECT_TRUE(change("spec.suspend", false).is_success());
  }
}

TEST_F(JobChanges, OfWorkersMayComeWithSuspendingAndResuming) {
  for (const bool suspend : {true, false}) {
    const Json placed =
        JsonObject{{"suspend", suspend},
                   {"worker", JsonObject{{"nodeSelector", JsonObject{{"pool", suspend ? "none" : "gold"}}}}}};
    const Answer answer = change("spec", placed);
    EXPECT_TRUE(answer.is_success()) << answer.message();
  }
}

TEST_F(JobChanges, ByTheOperatorStayInTheStatus) {
  Json both = at("status.state", "Running");
  both.get_object()["spec"] = JsonObject{{"suspend", true}, {"training", JsonObject{{"steps", 7}}}};
  const Answer answer = server_.merge("/running/status", both);
  ASSERT_TRUE(answer.is_success()) << answer.message();
  EXPECT_EQ(text_at(answer.body, {"status", "state"}), "Running");
  EXPECT_FALSE(flag_at(answer.body, {"spec", "suspend"}));
  EXPECT_EQ(integer_at(answer.body, {"spec", "training", "steps"}), 100);
  EXPECT_EQ(integer_at(answer.body, {"metadata", "generation"}), 1);
}

TEST_F(JobChanges, ByAUserLeaveTheStatusAlone) {
  const Answer answer = change("status.state", "Complete");
  ASSERT_TRUE(answer.is_success()) << answer.message();
  EXPECT_EQ(find(answer.body, {"status"}), nullptr);
}

TEST_F(JobChanges, OfOneConditionLeaveTheOthers) {
  ASSERT_TRUE(
      server_.apply("/running/status", status_intent(condition("Running", "True")), "a").is_success());
  const Answer answer = server_.apply("/running/status", status_intent(condition("Planned", "True")), "b");
  ASSERT_TRUE(answer.is_success()) << answer.message();
  EXPECT_EQ(find(answer.body, {"status", "conditions"})->as_array().size(), 2U);
}

// As the operator writes: what it decided on is not what is there any more.
TEST_F(JobChanges, OfTheStatusThatNameAnOlderVersionAreRefused) {
  const auto read = [&] { return server_.client().get({}, server_.jobs(), "running").value(); };
  const auto write_to = [&](const Json& job) {
    Json intent = status_intent(condition("Running", "True"));
    intent.get_object()["metadata"] = JsonObject{{"name", "running"},
                                                 {"namespace", server_.name_space()},
                                                 {"uid", uid_of(job)},
                                                 {"resourceVersion", version_of(job)}};
    return server_.client().apply_status({}, server_.jobs(), intent);
  };
  const Json first = read();
  EXPECT_TRUE(write_to(first));
  EXPECT_TRUE(write_to(first).error().is_conflict());
  suspend();
  const Json suspended = read();
  EXPECT_TRUE(write_to(suspended));
  ASSERT_TRUE(server_.client().remove({}, server_.jobs(), "running", {}));
  ASSERT_TRUE(server_.create(contents_of("tests/crd/jobs/running.yaml")).is_success());
  EXPECT_TRUE(write_to(suspended).error().is_conflict()) << "the job was made anew";
}

TEST_F(JobChanges, ThatGiveAConditionTwiceAreRefused) {
  const Json twice = JsonArray{condition("Running", "True"), condition("Running", "False")};
  const Answer answer = server_.merge("/running/status", at("status.conditions", twice));
  EXPECT_FALSE(answer.is_success());
  EXPECT_THAT(answer.message(), ::testing::HasSubstr("status.conditions[1]: Duplicate value"));
}

}  // namespace
}  // namespace caravan::kube::testing
