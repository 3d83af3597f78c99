#include "cli/cluster/api_errors.h"

#include <gmock/gmock.h>

#include <regex>

namespace caravan::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kApiServer = "10.0.0.1:6443";

kube::ApiError answer(int code, const std::string& body) {
  return kube::error_of_answer("GET /apis/training.caravan.dev/v1alpha1/namespaces/team/llamatrainingjobs",
                               {.status = code}, body);
}

std::string status(const std::string& reason, const std::string& message) {
  return R"({"kind":"Status","reason":")" + reason + R"(","message":")" + message + R"("})";
}

TEST(ApiErrors, NameTheRightThatIsMissing) {
  const Error error = explain(
      answer(403,
             status("Forbidden", "llamatrainingjobs is forbidden: User \\\"eve\\\" cannot list resource")),
      {.verb = "list", .name_space = "team"}, kApiServer);
  EXPECT_EQ(
      error.message,
      "llamatrainingjobs is forbidden: User \"eve\" cannot list resource; ask whoever runs the cluster for "
      "the right to list llamatrainingjobs.training.caravan.dev in namespace team");
  EXPECT_EQ(error.code, ExitCode::kJobFailed);
}

TEST(ApiErrors, OfAQuotaOrOfAdmissionSpeakOfNoOtherRight) {
  for (const std::string words :
       {"llamatrainingjobs \"tiny\" is forbidden: exceeded quota: few, requested: count/llamatrainingjobs=1",
        "llamatrainingjobs \"tiny\" is forbidden: ValidatingAdmissionPolicy 'caravan-jobs' denied request: "
        "eve may not create pods in the namespace team; they need the right create on pods there",
        "admission webhook \"images\" denied the request: no such image"}) {
    const ClusterError error =
        explain(answer(403, status("Forbidden", std::regex_replace(words, std::regex("\""), "\\\""))),
                {.verb = "create", .name_space = "team"}, kApiServer);
    EXPECT_EQ(error.message, "create llamatrainingjobs.training.caravan.dev: " + words);
    EXPECT_EQ(error.code, ExitCode::kJobFailed);
    EXPECT_TRUE(error.is_refusal());
  }
}

TEST(ApiErrors, TellAMissingDefinitionFromAMissingJob) {
  const Asked asked{.verb = "get", .name_space = "team", .name = "tiny"};
  EXPECT_THAT(explain(answer(404, "404 page not found"), asked, kApiServer).message,
              HasSubstr("Caravan is not installed there"));
  const Error error = explain(answer(404, status("NotFound", "\\\"tiny\\\" not found")), asked, kApiServer);
  EXPECT_EQ(error.message,
            "namespace team has no job tiny; `caravan list -n team` shows those that there are");
  EXPECT_EQ(error.code, ExitCode::kBadInput);
}

TEST(ApiErrors, OfACreationSpeakOfTheNamespaceAndOfTheNameThatIsTaken) {
  const Asked asked{.verb = "create", .name_space = "team", .name = "tiny"};
  EXPECT_EQ(explain(answer(404, status("NotFound", "namespaces \\\"team\\\" not found")), asked, kApiServer)
                .message,
            "namespaces \"team\" not found");
  EXPECT_THAT(explain(answer(409, status("AlreadyExists", "it exists")), asked, kApiServer).message,
              HasSubstr("namespace team has a job tiny already"));
}

TEST(ApiErrors, OfAServerThatIsNotReachedHaveACodeOfTheirOwn) {
  const Error error = explain({.kind = kube::ErrorKind::kUnreachable, .message = "connection refused"},
                              {.verb = "list"}, kApiServer);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr(kApiServer), HasSubstr("connection refused"), HasSubstr("--context")));
  EXPECT_EQ(error.code, ExitCode::kClusterUnreachable);
}

TEST(ApiErrors, SpeakOfNoOutageWhereTheServerIsNotTrustedOrTheUserHasNoCredentials) {
  const auto of = [](kube::ErrorKind kind, const std::string& message) {
    return explain({.kind = kind, .message = message}, {.verb = "list"}, kApiServer);
  };
  const Error untrusted = of(kube::ErrorKind::kUntrusted, "the certificate is not for 10.0.0.1");
  EXPECT_EQ(untrusted.message,
            "the API server 10.0.0.1:6443 is not trusted (the certificate is not for 10.0.0.1)");
  EXPECT_EQ(untrusted.code, ExitCode::kClusterUnreachable);
  const Error unknown = of(kube::ErrorKind::kNoCredentials, "the credential plugin 'login' ended with 1");
  EXPECT_EQ(
      unknown.message,
      "cannot log in to the API server 10.0.0.1:6443 (the credential plugin 'login' ended with 1); log in "
      "again, or name another --context");
  EXPECT_EQ(unknown.code, ExitCode::kClusterUnreachable);
}

TEST(ApiErrors, AreOneLine) {
  const Error error = explain(answer(422, status("Invalid", "two\\nlines")), {.verb = "create"}, kApiServer);
  EXPECT_EQ(error.message, "two lines");
  EXPECT_EQ(error.code, ExitCode::kBadInput);
}

TEST(ApiErrors, TellAnOutageFromARefusal) {
  const auto of = [](const kube::ApiError& error) { return explain(error, {.verb = "get"}, kApiServer); };
  for (const int code : {429, 500, 502, 503}) EXPECT_TRUE(of(answer(code, "")).is_outage()) << code;
  for (const int code : {400, 401, 403, 404, 409, 422})
    EXPECT_FALSE(of(answer(code, "")).is_outage()) << code;
  for (const int code : {401, 403}) EXPECT_TRUE(of(answer(code, "")).is_refusal()) << code;
  for (const int code : {400, 404, 500}) EXPECT_FALSE(of(answer(code, "")).is_refusal()) << code;
  for (const auto kind :
       {kube::ErrorKind::kUnreachable, kube::ErrorKind::kUntrusted, kube::ErrorKind::kNoCredentials}) {
    EXPECT_TRUE(of({.kind = kind, .message = "refused"}).is_outage());
    EXPECT_EQ(of({.kind = kind, .message = "refused"}).code, ExitCode::kClusterUnreachable);
  }
  EXPECT_FALSE(of({.kind = kube::ErrorKind::kRefusedHere, .message = "no name"}).is_outage());
}

}  // namespace
}  // namespace caravan::cli
