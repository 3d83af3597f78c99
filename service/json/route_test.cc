#include "service/json/route.h"

#include <gmock/gmock.h>

#include <set>

#include "caravan/v1alpha1/job_service.pb.h"

namespace caravan::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const google::protobuf::ServiceDescriptor& job_service() {
  return *v1alpha1::Job::descriptor()->file()->FindServiceByName("JobService");
}

// "GetJob namespaces/a/jobs/b", or the code of the refusal.
std::string found(std::string_view verb, std::string_view path) {
  static const Routes routes(job_service());
  const auto match = routes.find(verb, path);
  if (!match) return std::to_string(static_cast<int>(match.error().code));
  return match->route->method->name() + " " + match->value;
}

TEST(Routes, FindTheMethodAndWhatThePathHas) {
  const std::string jobs = "/v1alpha1/namespaces/team/jobs";
  const std::string name = " namespaces/team/jobs/a.b-1";
  const std::pair<std::pair<std::string, std::string>, std::string> cases[] = {
      {{"GET", jobs}, "ListJobs namespaces/team"},
      {{"POST", jobs}, "CreateJob namespaces/team"},
      {{"GET", "/v1alpha1/namespaces/-/jobs"}, "ListJobs namespaces/-"},
      {{"GET", jobs + ":watch"}, "WatchJobs namespaces/team"},
      {{"POST", jobs + ":estimate"}, "EstimateJob namespaces/team"},
      {{"GET", jobs + "/a.b-1"}, "GetJob" + name},
      {{"DELETE", jobs + "/a.b-1"}, "DeleteJob" + name},
      {{"POST", jobs + "/a.b-1:suspend"}, "SuspendJob" + name},
      {{"POST", jobs + "/a.b-1:resume"}, "ResumeJob" + name},
      {{"POST", jobs + "/a.b-1:cancel"}, "CancelJob" + name},
      {{"POST", jobs + "/a.b-1:checkpoint"}, "CheckpointNow" + name},
      {{"GET", jobs + "/a.b-1/events"}, "ListEvents" + name},
      {{"GET", jobs + "/a.b-1/checkpoints"}, "ListCheckpoints" + name},
      {{"GET", "/v1alpha1/namespaces/team/capacity"}, "GetCapacity namespaces/team"},
      {{"GET", jobs + "/a.b-1/logs"}, "StreamLogs" + name},
      {{"GET", jobs + "/a.b-1/metrics"}, "StreamMetrics" + name},
  };
  std::set<std::string> methods;
  for (const auto& [asked, method] : cases) {
    EXPECT_EQ(found(asked.first, asked.second), method) << asked.second;
    methods.insert(method.substr(0, method.find(' ')));
  }
  EXPECT_EQ(methods.size(), static_cast<std::size_t>(job_service().method_count()))
      << "some method has no path";
}

TEST(Routes, RefuseWhatCouldBeReadInTwoWays) {
  const std::string invalid = std::to_string(static_cast<int>(Code::kInvalidArgument));
  for (const char* path : {"/v1alpha1/namespaces/team/jobs/a%2Fb", "/v1alpha1/namespaces/te%61m/jobs",
                           "/v1alpha1/namespaces//jobs", "/v1alpha1/namespaces/team/jobs/", "//",
                           "/v1alpha1/namespaces/team/jobs/.", "/v1alpha1/namespaces/../jobs", "/",
                           "v1alpha1/namespaces/team/jobs", "", "*", "http://x/v1alpha1/namespaces/team/jobs",
                           "/v1alpha1/namespaces/t\x01/jobs", "/v1alpha1/namespaces/t\xff/jobs"})
    EXPECT_EQ(found("GET", path), invalid) << path;
}

TEST(Routes, KnowNoOtherPaths) {
  const std::string unknown = std::to_string(static_cast<int>(Code::kNotFound));
  for (const char* path : {"/v1", "/v1alpha1/namespaces/team", "/v1alpha1/namespaces/team/jobs/a/b",
                           "/v1alpha1/Namespaces/team/jobs",
                           "/v1alpha1/namespaces/team/jobs:", "/v1alpha1/namespaces/team/jobs:watch:watch",
                           "/v1alpha1/namespaces/team:watch/jobs", "/v1alpha1/namespaces/team/jobs/a:delete",
                           "/v1alpha1/namespaces/team/jobs/a/events:watch"})
    EXPECT_EQ(found("GET", path), unknown) << path;
}

TEST(Routes, SayWhichVerbsAPathHas) {
  const Routes routes(job_service());
  const auto refused = routes.find("PUT", "/v1alpha1/namespaces/team/jobs/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_THAT(refused.error().message, HasSubstr("takes GET and DELETE, not \"PUT\""));
  EXPECT_THAT(routes.verbs_of("/v1alpha1/namespaces/team/jobs/a"), ElementsAre("GET", "DELETE"));
}

}  // namespace
}  // namespace caravan::service
