// The job service's program over HTTP, as curl calls it, against a real API server.
#include <fmt/format.h>

#include "common/json.h"
#include "common/testing/shell.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class JsonServiceTest : public ServiceProgram {
 protected:
  void start() {
    ServiceProgram::start({"--http-listen", "127.0.0.1:0"});
    ASSERT_NE(http_address_, "");
  }
  std::string editor() {
    make_account("editor", {"get", "list", "watch", "create", "patch", "delete"});
    return full_token("editor");
  }
  // arguments: curl's, with the path behind /v1alpha1/ as the last one.
  std::string curl(const std::string& token, const std::string& arguments, const std::string& path) {
    folder_.write("token", "header = \"Authorization: Bearer " + token + "\"\n");
    const std::string port = http_address_.substr(http_address_.rfind(':') + 1);
    return fmt::format(
        "curl -sS --cacert '{}' --config '{}' --resolve localhost:{}:127.0.0.1 {} "
        "'https://localhost:{}/v1alpha1/{}'",
        folder_.path("ca.crt"), folder_.path("token"), port, arguments, port, path);
  }
  // The status, a space and the body.
  std::string ask(const std::string& token, const std::string& arguments, const std::string& path) {
    const auto outcome = caravan::test::run_shell(
        curl(token, fmt::format("-o '{}' -w '%{{http_code}} ' {}", folder_.path("answer"), arguments), path));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out + caravan::test::contents(folder_.path("answer"));
  }
  std::string post(const std::string& token, const std::string& body, const std::string& path) {
    folder_.write("body", body);
    return ask(token,
               fmt::format("-H 'Content-Type: application/json' --data-binary '@{}'", folder_.path("body")),
               path);
  }
};

TEST_F(JsonServiceTest, AJobIsCreatedShownSuspendedAndDeletedWithCurl) {
  start();
  const std::string token = editor();
  EXPECT_THAT(post(token, to_json(job("train")), parent() + "/jobs?requestId=5f0c-1"),
              AllOf(StartsWith("200 "), HasSubstr("\"name\":\"" + job_name("train") + "\"")));
  EXPECT_THAT(post(token, to_json(job("train")), parent() + "/jobs?requestId=5f0c-2"),
              AllOf(StartsWith("409 "), HasSubstr(R"("reason":"ALREADY_EXISTS")")));
  EXPECT_THAT(post(token, to_json(job("other")), parent() + "/jobs?validateOnly=true"), StartsWith("200 "));
  await_job(person(token), "train");
  EXPECT_THAT(ask(token, "", job_name("train")), AllOf(StartsWith("200 "), HasSubstr("llama-tiny")));
  EXPECT_THAT(ask(token, "", parent() + "/jobs"), AllOf(StartsWith("200 "), HasSubstr(R"("totalSize":1)")));
  EXPECT_THAT(ask(token, "-X POST", job_name("train") + ":suspend"),
              AllOf(StartsWith("200 "), HasSubstr(R"("suspend":true)")));
  EXPECT_THAT(post(token, R"({"etag": "1"})", job_name("train") + ":resume"),
              AllOf(StartsWith("409 "), HasSubstr(R"("reason":"STALE_ETAG")")));
  EXPECT_THAT(ask(token, "", job_name("train") + "/events"), StartsWith("200 "));
  EXPECT_THAT(ask(token, "-X DELETE", job_name("train")), StartsWith("200 {}"));
  EXPECT_THAT(log(), AllOf(HasSubstr(R"("audit":"CreateJob")"), HasSubstr(R"("audit":"SuspendJob")"),
                           HasSubstr(R"("audit":"DeleteJob")")));
  EXPECT_EQ(log().find(token), std::string::npos) << "no token in any line";
}

TEST_F(JsonServiceTest, NobodyMayWhatHeCouldNotDoWithKubectl) {
  start();
  make_account("viewer", {"get", "list", "watch"});
  make_account("stranger", {});
  create_job("train");
  const std::string viewer = full_token("viewer");
  await_job(person(viewer), "train");
  EXPECT_THAT(ask(viewer, "", job_name("train")), StartsWith("200 "));
  EXPECT_THAT(ask(viewer, "-X POST", job_name("train") + ":suspend"),
              AllOf(StartsWith("403 "), HasSubstr(R"("reason":"FORBIDDEN")")));
  EXPECT_THAT(ask(full_token("stranger"), "", job_name("train")), StartsWith("403 "));
  EXPECT_THAT(ask("garbage", "", job_name("train")), StartsWith("401 "));
  EXPECT_THAT(ask(token("viewer", {"caravan"}), "-X DELETE", job_name("train")),
              AllOf(StartsWith("401 "), HasSubstr(R"("reason":"TOKEN_AUDIENCE")")));
}

TEST_F(JsonServiceTest, EveryMistakeOfAJobIsToldWithItsField) {
  start();
  v1alpha1::LlamaTrainingJob bad = job("train");
  bad.mutable_spec()->mutable_training()->set_steps(0);
  bad.mutable_spec()->mutable_model()->set_preset("llama-9");
  EXPECT_THAT(post(editor(), to_json(bad), parent() + "/jobs"),
              AllOf(StartsWith("400 "), HasSubstr(R"("field":"job.spec.training.steps")"),
                    HasSubstr(R"("field":"job.spec.model.preset")")));
}

TEST_F(JsonServiceTest, AWatchIsAStreamOfEventsThatGoesOnWhereItWas) {
  start();
  const std::string token = editor();
  create_job("first");
  await_job(person(token), "first");
  // Until the word has come.
  const auto watch = [&](const std::string& word, const std::string& arguments) {
    const std::string events = folder_.path("events");
    const auto outcome = caravan::test::run_shell(
        fmt::format("{} >'{}' & until grep -q '{}' '{}'; do kill -0 $! || exit 1; sleep 0.05; done; kill $!",
                    curl(token, "-N " + arguments, parent() + "/jobs:watch"), events, word, events));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return caravan::test::contents(events);
  };
  const std::string told = watch("Complete", "");
  EXPECT_THAT(told, HasSubstr(job_name("first")));
  const std::size_t id = told.rfind("id: ");
  ASSERT_NE(id, std::string::npos) << told;
  create_job("second");
  const std::string rest = watch(
      "second", fmt::format("-H 'Last-Event-ID: {}'", told.substr(id + 4, told.find('\n', id) - id - 4)));
  EXPECT_THAT(rest, ::testing::Not(HasSubstr("Complete")));
}

}  // namespace
}  // namespace caravan::service::testing
