// Which jobs others let go first, since these wait for machines, and which changes of a status are news.
#include "operator/caches.h"

#include <gtest/gtest.h>

#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

kube::JsonObject condition_of_job(const char* type, const char* value, const std::string& reason,
                                  const std::string& message) {
  return {{"type", type}, {"status", value}, {"reason", reason}, {"message", message}};
}

// Some of its pods have no machine.
kube::Json waiting_job(
    const std::string& reason = reasons::kWaitingForPods,
    const std::string& message = "0/8 nodes are available: 8 Insufficient nvidia.com/gpu") {
  kube::Json job = job_object();
  job.as_object()["status"] = kube::JsonObject{
      {"conditions", kube::JsonArray{condition_of_job(conditions::kScheduled, "False", reason, message)}}};
  return job;
}

TEST(JobsThatWaitForMachines, LackNothingElse) {
  EXPECT_TRUE(waits_for_machines(waiting_job()));
  EXPECT_TRUE(waits_for_machines(waiting_job(reasons::kGangTimeout))) << "it asks again later";
  for (const char* full : {"Insufficient nvidia.com/gpu", "Too many pods", "cannot allocate all claims"})
    EXPECT_TRUE(waits_for_machines(waiting_job(
        reasons::kWaitingForPods, std::string("pod train-0-a1: 0/3 nodes are available: 1 node(s) didn't "
                                              "find available persistent volumes to bind, 2 ") +
                                      full)))
        << "on two of them its class makes volumes: " << full;
  EXPECT_FALSE(waits_for_machines(job_object())) << "nobody has looked at it";
  for (const char* reason :
       {reasons::kWaitingForQuota, reasons::kNotAllowed, reasons::kNoDomain, reasons::kPodsGated})
    EXPECT_FALSE(waits_for_machines(waiting_job(reason))) << reason;
  for (const char* cause :
       {"pod train-0-a1: 0/1 nodes are available: persistentvolumeclaim \"corpus\" not found; create that "
        "claim",
        "pod train-0-a1: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims",
        "pod train-0-a1: 0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind",
        "pod train-0-a1: 0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to "
        "non-existent pv(s)",
        "0 of 2 pods have a machine; pods \"train-0-a1\" is forbidden: exceeded quota: q, requested: pods=1",
        "0 of 2 pods have a machine; pods \"train-0-a1\" is forbidden: failed quota: q: must specify cpu",
        "0 of 2 pods have a machine; admission webhook \"policy.example\" denied the request: no such team"})
    EXPECT_FALSE(waits_for_machines(waiting_job(reasons::kWaitingForPods, cause))) << cause;
}

TEST(JobsThatWaitForMachines, GoOn) {
  for (const char* type : {conditions::kSuspended, conditions::kComplete, conditions::kFailed}) {
    kube::Json job = waiting_job();
    job.at("status").at("conditions").as_array().push_back(condition_of_job(type, "True", "Test", ""));
    EXPECT_FALSE(waits_for_machines(job)) << type;
  }
  kube::Json deleted = waiting_job();
  deleted.at("metadata").as_object()["deletionTimestamp"] = "2030-01-01T00:00:00Z";
  EXPECT_FALSE(waits_for_machines(deleted));
}

TEST(JobsThatWaitForMachines, HaveNoneFromAQueue) {
  kube::Json job = waiting_job();
  job.at("status").as_object()["gang"] = kube::JsonObject{{"admitted", true}};
  EXPECT_FALSE(waits_for_machines(job));
  job.at("status").as_object()["gang"] = kube::JsonObject{{"givenBack", 1}};
  EXPECT_TRUE(waits_for_machines(job));
}

kube::Json job_with_status(const std::string& status) {
  kube::Json job = job_object();
  job.as_object()["status"] = kube::parse_json(status, "status").value();
  return job;
}

// Refused, or followed.
kube::Json planned_job(const char* planned, const std::string& plan) {
  kube::Json job = job_with_status(R"({"plan": )" + plan + "}");
  job.at("status").as_object()["conditions"] =
      kube::JsonArray{condition_of_job(conditions::kPlanned, planned, "Test", "")};
  return job;
}

TEST(StatusMended, ByHandLetsARefusedJobBePlanned) {
  const kube::Json refused = planned_job("False", R"({"tensor": 2, "document": "damaged"})");
  for (const char* mended : {R"({"tensor": 2})", R"({"tensor": 4, "document": "damaged"})", "{}", "null"})
    EXPECT_TRUE(is_status_mended(refused, planned_job("False", mended))) << mended;
  EXPECT_TRUE(is_status_mended(refused, job_object())) << "the whole status is gone";
  EXPECT_FALSE(is_status_mended(refused, refused));
  EXPECT_FALSE(is_status_mended(planned_job("True", R"({"tensor": 2})"), planned_job("True", "{}")));
  EXPECT_FALSE(is_status_mended(planned_job("False", "{}"), planned_job("True", R"({"tensor": 2})")))
      << "that is the operator's own";
}

TEST(StatusMended, ByHandCanBeReadAgain) {
  const kube::Json readable = job_with_status(R"({"attempt": 1})");
  EXPECT_TRUE(is_status_mended(job_with_status(R"({"attempt": "many"})"), readable));
  EXPECT_FALSE(is_status_mended(readable, job_with_status(R"({"attempt": 2})")));
}

}  // namespace
}  // namespace caravan::controller::testing
