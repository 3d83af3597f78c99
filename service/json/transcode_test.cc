#include "service/json/transcode.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "caravan/v1alpha1/job_service.pb.h"
#include "common/json.h"

namespace caravan::service {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr char kJobs[] = "/v1alpha1/namespaces/team/jobs";

http::Request asked(std::string method, const std::string& target, std::string body = "") {
  http::Request request{.method = std::move(method), .target = target, .body = std::move(body)};
  if (!request.body.empty()) request.fields = {{"content-type", "application/json; charset=utf-8"}};
  return request;
}

// The request's message in JSON, or what is wrong with it.
std::string read(const http::Request& request) {
  static const Routes routes(*v1alpha1::Job::descriptor()->file()->FindServiceByName("JobService"));
  const auto match = routes.find(request.method, request.path());
  if (!match) return "no route: " + match.error().message;
  const auto message = request_of(*match, request);
  if (message) return to_json(**message);
  EXPECT_EQ(message.error().code, Code::kInvalidArgument);
  EXPECT_EQ(message.error().fields.size(), 1u);
  return message.error().message;
}

TEST(RequestOf, HasWhatPathQueryAndBodySay) {
  EXPECT_EQ(
      read(asked("GET", std::string(kJobs) + "?pageSize=5&filter=state%3DRunning+AND%20labels.team=nlp")),
      R"({"parent":"namespaces/team","pageSize":5,"filter":"state=Running AND labels.team=nlp"})");
  EXPECT_EQ(read(asked("DELETE", std::string(kJobs) + "/a?allowMissing=true&etag=7")),
            R"({"name":"namespaces/team/jobs/a","etag":"7","allowMissing":true})");
  EXPECT_EQ(read(asked("POST", std::string(kJobs) + "?validateOnly=true&requestId=5f0c",
                       R"({"metadata": {"name": "a"}, "spec": {"training": {"steps": 5}}})")),
            R"({"parent":"namespaces/team","job":{"metadata":{"name":"a"},"spec":{"training":{"steps":5}}},)"
            R"("validateOnly":true,"requestId":"5f0c"})");
  EXPECT_EQ(read(asked("POST", std::string(kJobs) + "/a:suspend", R"({"etag": "7"})")),
            R"({"name":"namespaces/team/jobs/a","etag":"7"})");
  const std::string two_rules =
      R"({"spec":{"failurePolicy":{"rules":[{"action":"Restart"},{"action":"Fail"}]}}})";
  EXPECT_THAT(read(asked("POST", kJobs, two_rules)), HasSubstr(two_rules))
      << "a field may stand in each object once";
  EXPECT_EQ(read(asked("POST", std::string(kJobs) + "/a:suspend")), R"({"name":"namespaces/team/jobs/a"})");
  EXPECT_EQ(read(asked("POST", std::string(kJobs) + ":estimate", R"({"devices": [8, 16]})")),
            R"({"parent":"namespaces/team","devices":[8,16],"allCandidates":false})");
}

TEST(RequestOf, NamesWhatIsNotAsItMustBe) {
  const std::string list = kJobs;
  const std::string suspend = list + "/a:suspend";
  const std::string long_name(10'000, 'n');
  const std::pair<http::Request, const char*> cases[] = {
      {asked("GET", list + "?pageSise=5"), "unknown parameter \"pageSise\"; there are pageSize, pageToken"},
      {asked("GET", list + "?page_size=5"), "unknown parameter \"page_size\""},
      {asked("GET", list + "?parent=namespaces/other"), "unknown parameter \"parent\""},
      {asked("GET", list + "?pageSize=five"), "pageSize: expected a whole number"},
      {asked("GET", list + "?pageSize=5000000000"), "pageSize: expected a whole number of 32 bits"},
      {asked("GET", list + "?pageSize="), "pageSize: expected a whole number"},
      {asked("GET", list + "?pageSize=5&pageSize=6"), "pageSize: is given twice"},
      {asked("GET", list + "?filter=%f"), "bad escape"},
      {asked("GET", list + "?filter=%"), "bad escape"},
      {asked("GET", list + "?filter=%zz"), "bad escape"},
      {asked("GET", list + "?filter=%ff"), "is not UTF-8"},
      {asked("DELETE", list + "/a?allowMissing=yes"), "allowMissing: expected true or false"},
      {asked("GET", list, "{}"), "body: ListJobs takes none"},
      {asked("POST", list + "?job=x", "{}"), "unknown parameter \"job\"; there are validateOnly, requestId"},
      {asked("POST", list, R"({"spec": {"training": {"stepz": 1}}})"),
       "job: spec: training: stepz: unknown field"},
      {asked("POST", list, R"({"spec": {"training": {"steps": "1"}}})"),
       "job: spec: training: steps: expected a whole number"},
      {asked("POST", list, R"({"spec": {"training": {"steps": 1, "steps": 2}}})"),
       "job.spec.training.steps: is given twice"},
      {asked("POST", list, R"({"metadata": {"name": "a"}, "spec": {}, "met\u0061data": {}})"),
       "job.metadata: is given twice"},
      {asked("POST", suspend, R"({"etag": "7", "etag": "8"})"), "etag: is given twice"},
      {asked("POST", list, R"({"spec": {"a\nb": 1, "a\nb": 2}})"), R"(job.spec."a\nb": is given twice)"},
      {asked("POST", list, fmt::format(R"({{"{0}": 1, "{0}": 2}})", long_name)), R"(n...": is given twice)"},
      {asked("POST", list, R"({"spec": [)"), "the body is no JSON"},
      {asked("POST", list, "{} {}"), "the body is no JSON"},
      {asked("POST", list, "[]"), "job: expected an object"},
      {asked("POST", list, "\"\xff\""), "the body is no JSON"},
      {asked("POST", list, std::string(33, '[') + std::string(33, ']')), "the body is no JSON: too deep"},
      {asked("POST", suspend, R"({"etaq": "7"})"), "etaq: unknown field"},
      {asked("POST", suspend, R"({"name": "namespaces/other/jobs/b"})"), "name: stands in the path already"},
      {asked("POST", suspend + "?etag=7"), "unknown parameter \"etag\"; there are none"},
      {{.method = "POST", .target = suspend, .fields = {{"content-type", "text/plain"}}, .body = "{}"},
       "expected the Content-Type application/json, got \"text/plain\""},
  };
  for (const auto& [request, words] : cases) EXPECT_THAT(read(request), HasSubstr(words)) << request.target;
}

TEST(RequestOf, AWatchGoesOnWhereTheBrowserWas) {
  http::Request request = asked("GET", std::string(kJobs) + ":watch?resumeToken=5");
  EXPECT_EQ(read(request), R"({"parent":"namespaces/team","resumeToken":"5"})");
  request.fields = {{"last-event-id", "7"}};
  EXPECT_EQ(read(request), R"({"parent":"namespaces/team","resumeToken":"7"})") << "the newer one";
  request.fields = {{"last-event-id", "\xff"}};
  EXPECT_THAT(read(request), HasSubstr("Last-Event-ID: is not UTF-8"));
}

TEST(ReplyOf, AnAnswerIsTheMessage) {
  v1alpha1::Job job;
  job.set_name("namespaces/team/jobs/a");
  const http::Reply reply = reply_of(job);
  EXPECT_EQ(reply.status, "200 OK");
  EXPECT_EQ(reply.content_type, "application/json");
  EXPECT_EQ(reply.body, "{\"name\":\"namespaces/team/jobs/a\"}\n");
  EXPECT_THAT(reply.fields, Contains(Pair("Cache-Control", "no-store")));
}

TEST(ReplyOf, AFaultIsAStatusWithItsDetails) {
  Fault bad{.code = Code::kInvalidArgument,
            .reason = "INVALID_JOB",
            .message = "steps: expected \"more\"",
            .fields = {{"job.spec.training.steps", "expected more"}}};
  const http::Reply reply = reply_of(bad);
  EXPECT_EQ(reply.status, "400 Bad Request");
  EXPECT_EQ(
      reply.body,
      R"({"code":3,"message":"steps: expected \"more\"","details":[)"
      R"({"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_JOB","domain":"training.caravan.dev"},)"
      R"({"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[)"
      R"({"field":"job.spec.training.steps","description":"expected more"}]}]})"
      "\n");
}

TEST(ReplyOf, EachCodeHasItsStatus) {
  const std::pair<Code, const char*> cases[] = {
      {Code::kInvalidArgument, "400"},   {Code::kFailedPrecondition, "400"},
      {Code::kOutOfRange, "400"},        {Code::kUnauthenticated, "401"},
      {Code::kPermissionDenied, "403"},  {Code::kNotFound, "404"},
      {Code::kAlreadyExists, "409"},     {Code::kAborted, "409"},
      {Code::kResourceExhausted, "429"}, {Code::kCancelled, "499"},
      {Code::kInternal, "500"},          {Code::kUnimplemented, "501"},
      {Code::kUnavailable, "503"},       {Code::kDeadlineExceeded, "504"},
  };
  for (const auto& [code, status] : cases)
    EXPECT_EQ(reply_of(Fault{.code = code}).status.substr(0, 3), status) << static_cast<int>(code);
}

TEST(ReplyOf, WhoIsRefusedIsToldWhatToDo) {
  EXPECT_THAT(reply_of(Fault{.code = Code::kUnauthenticated}).fields,
              Contains(Pair("WWW-Authenticate", "Bearer")));
  EXPECT_THAT(
      reply_of(Fault{.code = Code::kResourceExhausted, .retry_after = std::chrono::milliseconds(9'100)})
          .fields,
      Contains(Pair("Retry-After", "10")));
}

TEST(ReplyOf, WhatMayPassHasATimeToComeAgain) {
  for (const Fault& fault : {Fault{.code = Code::kUnavailable, .reason = faults::kServerAway},
                             Fault{.code = Code::kResourceExhausted, .reason = faults::kBusy},
                             Fault{.code = Code::kResourceExhausted, .reason = faults::kRate}})
    EXPECT_THAT(reply_of(fault).fields, Contains(Pair("Retry-After", "1"))) << fault.reason;
  for (const Fault& fault : {Fault{.code = Code::kResourceExhausted, .reason = faults::kQuota},
                             Fault{.code = Code::kNotFound, .reason = faults::kNotFound}})
    EXPECT_THAT(reply_of(fault).fields, Not(Contains(Pair("Retry-After", ::testing::_)))) << fault.reason;
}

TEST(ReplyOf, WhatHttpDoesNotTakeHasItsStatusAndIsAnErrorAsAnyOther) {
  const http::Reply reply =
      reply_of(http::Refusal{"413 Content Too Large", "expected a body of at most 9 bytes"});
  EXPECT_EQ(reply.status, "413 Content Too Large");
  EXPECT_EQ(reply.content_type, "application/json");
  EXPECT_THAT(reply.body, AllOf(HasSubstr(R"("code":3)"), HasSubstr(R"("reason":"BAD_REQUEST")"),
                                HasSubstr(R"("message":"expected a body of at most 9 bytes")")));
}

TEST(EventOf, HasTheMessageAndWhereToGoOn) {
  v1alpha1::WatchJobsResponse response;
  response.set_kind(v1alpha1::WatchJobsResponse::Changed);
  response.mutable_job()->set_name("two\nlines");
  EXPECT_EQ(event_of(response), "data: {\"kind\":\"Changed\",\"job\":{\"name\":\"two\\nlines\"}}\n\n");
  response.set_resume_token("7");
  EXPECT_THAT(event_of(response), ::testing::StartsWith("id: 7\ndata: {"));
  response.set_resume_token("7\ndata: forged");
  EXPECT_THAT(event_of(response), Not(HasSubstr("id:")));
  EXPECT_EQ(event_of(v1alpha1::Job()), "data: {}\n\n");
}

TEST(EventOf, AFaultIsAnEventOfItsOwn) {
  const std::string event = event_of(Fault{.code = Code::kOutOfRange, .reason = "RESUME_TOKEN_TOO_OLD"});
  EXPECT_THAT(event, ::testing::StartsWith("event: fault\ndata: {\"code\":11,"));
  EXPECT_THAT(event, EndsWith("}\n\n"));
  EXPECT_EQ(head_of_events().content_type, "text/event-stream");
}

}  // namespace
}  // namespace caravan::service
