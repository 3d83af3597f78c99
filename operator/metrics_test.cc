// The series that the operator shows, as text, and the lines of its log.
#include "operator/metrics.h"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "common/testing/checkout.h"
#include "operator/job_series.h"
#include "operator/testing/jobs.h"
#include "serving/log.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

kube::Json job_with_status(const std::string& name, const std::string& uid, const std::string& status) {
  kube::Json job = job_object("", name, uid);
  job.as_object()["status"] = kube::parse_json(status, "status").value();
  return job;
}

// "caravan_jobs", ... with the number of their series.
std::map<std::string, std::size_t> sizes(const std::vector<prometheus::MetricFamily>& families) {
  std::map<std::string, std::size_t> all;
  for (const auto& family : families) all[family.name] = family.metric.size();
  return all;
}

TEST(JobSeries, OfAJobThatEndedGoAQuarterOfAnHourLater) {
  kube::Store jobs;
  jobs.replace(
      {job_with_status("a", "1", R"({"state": "Running", "progress": {"step": 25}})"),
       job_with_status("b", "2", R"({"state": "Complete", "completionTime": "2030-01-01T00:00:00Z"})")},
      "7");
  const std::map<std::string, JobLedger::Account> accounts{
      {"1", {.seconds = {{TimeCategory::kProductive, 5}}, .restarts = {{"PodLost", 2}}}},
      {"2", {.seconds = {{TimeCategory::kProductive, 6}}}},
      {"gone", {.seconds = {{TimeCategory::kQueue, 7}}}}};
  const auto soon = sizes(job_series(jobs, accounts, kStart + 15min));
  EXPECT_EQ(soon.at("caravan_jobs"), 2U);
  EXPECT_EQ(soon.at("caravan_job_info"), 2U);
  EXPECT_EQ(soon.at("caravan_job_progress_ratio"), 1U);
  EXPECT_EQ(soon.at("caravan_job_time_seconds_total"), 2U) << "a deleted job has none";
  EXPECT_EQ(soon.at("caravan_job_restarts_total"), 1U);
  const auto later = sizes(job_series(jobs, accounts, kStart + 15min + 1s));
  EXPECT_EQ(later.at("caravan_jobs"), 2U) << "it still is a job";
  EXPECT_EQ(later.at("caravan_job_info"), 1U);
  EXPECT_EQ(later.at("caravan_job_time_seconds_total"), 1U);
}

TEST(JobSeries, TheQueueIsTheSpecsOrKueuesLabel) {
  const auto queue_of = [](const std::string& spec_more, const kube::JsonObject& labels) {
    kube::Json object = job_object(spec_more);
    object.as_object()["metadata"].as_object()["labels"] = labels;
    kube::Store jobs;
    jobs.replace({object}, "7");
    const auto families = job_series(jobs, {}, kStart);
    const auto info = std::ranges::find(families, "caravan_job_info", &prometheus::MetricFamily::name);
    const auto& of_job = info->metric.at(0).label;
    return std::ranges::find(of_job, "queue", &prometheus::ClientMetric::Label::name)->value;
  };
  const kube::JsonObject by_label{{"kueue.x-k8s.io/queue-name", "lq"}};
  EXPECT_EQ(queue_of("", {}), "");
  EXPECT_EQ(queue_of("", by_label), "lq");
  EXPECT_EQ(queue_of(R"(, "scheduling": {"queue": "team", "gang": {"provider": "Kueue"}})", by_label),
            "team");
}

TEST(JobSeries, AJobIsKnownByItsCreationFromAnotherOneOfItsName) {
  kube::Store jobs;
  jobs.replace({job_object()}, "7");
  const auto families = job_series(jobs, {}, kStart);
  const auto created =
      std::ranges::find(families, "caravan_job_created_timestamp_seconds", &prometheus::MetricFamily::name);
  EXPECT_EQ(created->metric.at(0).gauge.value, 1893456000) << "2030-01-01T00:00:00Z";
}

TEST(JobSeries, OfAJobThatIsOverSayHowItEndedAndWhy) {
  kube::Store jobs;
  jobs.replace({job_with_status("done", "1", R"({"conditions": [
                    {"type": "Complete", "status": "True", "reason": "StepsReached"}]})"),
                job_with_status("lost", "2", R"({"conditions": [
                    {"type": "Running", "status": "False", "reason": "PodLost"},
                    {"type": "Failed", "status": "True", "reason": "MaxRestartsReached"}]})"),
                job_with_status("trains", "3", R"({"conditions": [
                    {"type": "Running", "status": "True", "reason": "StepsAdvancing"}]})")},
               "7");
  const auto families = job_series(jobs, {}, kStart);
  EXPECT_EQ(sizes(families).at("caravan_job_ended"), 2U);
  const std::string text = prometheus::TextSerializer().Serialize(families);
  for (const char* series : {R"(job="done",result="Complete",reason="StepsReached"} 1)",
                             R"(job="lost",result="Failed",reason="MaxRestartsReached"} 1)"})
    EXPECT_THAT(text, HasSubstr(R"(caravan_job_ended{namespace="team",)" + std::string(series)));
}

TEST(JobSeries, DevicesAreHeldByJobsThatHaveAPlace) {
  struct Case {
    std::string state;
    double held;
    std::string scheduled = "True";
  };
  for (const auto& [state, held, scheduled] : {Case{"", 0},
                                               {"Pending", 0},
                                               {"DoesNotFit", 0},
                                               {"Suspended", 0},
                                               {"Starting", 4},
                                               {"Running", 4},
                                               {"Stalled", 4},
                                               {"Stalled", 0, "False"},
                                               {"Restarting", 4},
                                               {"Restarting", 0, "False"},
                                               {"Complete", 0},
                                               {"Failed", 0}}) {
    kube::Store jobs;
    jobs.replace(
        {job_with_status("a", "1",
                         R"({"state": ")" + state + R"(", "conditions": [{"type": "Scheduled", "status": ")" +
                             scheduled + R"("}]})")},
        "7");
    const auto families = job_series(jobs, {}, kStart);
    const auto devices = std::find_if(families.begin(), families.end(), [](const auto& family) {
      return family.name == "caravan_job_devices";
    });
    ASSERT_EQ(devices->metric.size(), 1U);
    EXPECT_EQ(devices->metric.at(0).gauge.value, held) << state;
    EXPECT_EQ(devices->metric.at(0).label.back().value, "CPU");
  }
}

TEST(JobSeries, AJobWhoseQuotaWasTakenBackWaitsAndOneThatSomebodySuspendedDoesNot) {
  kube::Store jobs;
  kube::JsonArray all;
  for (const std::string reason : {"ByQueue", "ByQueue", "ByUser"}) {
    all.push_back(job_with_status("job-" + std::to_string(all.size()), std::to_string(all.size()),
                                  R"({"state": "Suspended", "conditions": [{"type": "Suspended", )"
                                  R"("status": "True", "reason": ")" +
                                      reason + R"("}]})"));
  }
  jobs.replace(all, "7");
  std::map<std::string, double> counted;
  const auto families = job_series(jobs, {}, kStart);
  for (const auto& metric : families.at(0).metric) counted[metric.label.at(0).value] = metric.gauge.value;
  EXPECT_EQ(counted, (std::map<std::string, double>{{"Queued", 2}, {"Suspended", 1}}));
}

TEST(NodeSeries, AddUpWhatNodesOfferThatMayGetPods) {
  const auto node = [](const std::string& name, const std::string& ready, const std::string& spec,
                       const std::string& allocatable) {
    return kube::parse_json(R"({"metadata": {"name": ")" + name + R"("}, "spec": )" + spec +
                                R"(, "status": {"allocatable": )" + allocatable +
                                R"(, "conditions": [{"type": "Ready", "status": ")" + ready + R"("}]}})",
                            "node")
        .value();
  };
  const std::string eight = R"({"nvidia.com/gpu": "8", "cpu": "64"})";
  kube::Store nodes;
  nodes.replace(
      {node("a", "True", "{}", eight), node("b", "True", "{}", eight),
       node("not-ready", "False", "{}", eight), node("closed", "True", R"({"unschedulable": true})", eight),
       node("other", "True", "{}", R"({"amd.com/gpu": "4"})")},
      "7");
  std::map<std::string, double> offered;
  for (const auto& metric : node_series(nodes).metric) offered[metric.label.at(0).value] = metric.gauge.value;
  EXPECT_EQ(offered, (std::map<std::string, double>{{"nvidia.com/gpu", 16}, {"amd.com/gpu", 4}}));
  kube::Store none;
  EXPECT_EQ(node_series(none).metric.size(), 1U) << "no GPU is a number too";
}

TEST(Metrics, HaveTheNamesThatDashboardsKnow) {
  Metrics metrics;
  kube::Store jobs;
  metrics.set_sources({.jobs = &jobs,
                       .accounts = [] { return std::map<std::string, JobLedger::Account>(); },
                       .queue_depth = [] { return 3U; },
                       .queue_oldest_seconds = [] { return 0.5; },
                       .is_leader = [] { return true; },
                       .caches =
                           [] {
                             return std::vector<CacheState>{{"pods", "1234", 5s}};
                           }});
  metrics.on_request("GET", 200);
  metrics.on_clocks_compared(-5s);
  metrics.on_taken(20ms);
  metrics.on_reconciled(kube::ReconcileEnd::kException, 1ms, 100us);
  metrics.on_planned(50ms);
  metrics.on_reports_handled("UNAUTHENTICATED", 5ms);
  const std::string text = metrics.text();
  for (const char* line :
       {R"(rest_client_requests_total{code="200",method="GET"} 1)",
        R"(workqueue_depth{name="llamatrainingjob"} 3)",
        R"(workqueue_queue_duration_seconds_bucket{name="llamatrainingjob",le="0.02"} 1)",
        R"(workqueue_retries_total{name="llamatrainingjob"} 1)",
        R"(controller_runtime_reconcile_total{controller="llamatrainingjob",result="error"} 1)",
        R"(controller_runtime_reconcile_errors_total{controller="llamatrainingjob"} 1)",
        R"(controller_runtime_reconcile_panics_total{controller="llamatrainingjob"} 1)",
        R"(controller_runtime_reconcile_time_seconds_count{controller="llamatrainingjob"} 1)",
        R"(caravan_reconcile_cpu_seconds_bucket{controller="llamatrainingjob",le="0.0001"} 1)",
        R"(caravan_plan_seconds_count 1)", R"(grpc_code="UNAUTHENTICATED")",
        R"(grpc_service="caravan.v1alpha1.JobReports")", R"(grpc_server_handling_seconds_count)",
        R"(caravan_clock_difference_seconds -5)", R"(caravan_cache_resource_version{resource="pods"} 1234)",
        R"(caravan_cache_age_seconds{resource="pods"} 5)",
        R"(leader_election_master_status{name="llamatrainingjob"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

std::string page_of_metrics() {
  std::stringstream page;
  page << std::ifstream(test::source_folder() + "/docs/reference/operator-metrics.md").rdbuf();
  return page.str();
}

TEST(Metrics, EachStandsInTheReferencePage) {
  const std::string page = page_of_metrics();
  Metrics metrics;
  kube::Store jobs;
  kube::Store nodes;
  bool leads = true;
  metrics.set_sources({.jobs = &jobs,
                       .nodes = &nodes,
                       .accounts = [] { return std::map<std::string, JobLedger::Account>(); },
                       .queue_depth = [] { return 3U; },
                       .queue_oldest_seconds = [] { return 0.5; },
                       .is_leader = [&] { return leads; },
                       .caches =
                           [] {
                             return std::vector<CacheState>{{"pods", "1234", 5s}};
                           }});
  metrics.on_request("GET", 200);
  metrics.on_retry({.code = 429}, 1ms);
  metrics.on_relist("pods");
  metrics.on_watch_opened("pods");
  metrics.on_reports_handled("OK", 5ms);
  metrics.on_reconciled(kube::ReconcileEnd::kDone, 1ms, 100us);
  const std::string text = metrics.text();
  const std::regex described("# HELP (\\S+) (.*)\n# TYPE \\S+ (\\S+)");
  for (std::sregex_iterator match(text.begin(), text.end(), described), none; match != none; ++match)
    EXPECT_THAT(page,
                HasSubstr("| `" + match->str(1) + "` | " + match->str(3) + " | " + match->str(2) + " |"));
  EXPECT_THAT(text, HasSubstr("caravan_jobs"));
  leads = false;
  EXPECT_THAT(metrics.text(), ::testing::Not(HasSubstr("caravan_jobs"))) << "the leader shows them";
}

TEST(Log, MembersAreJsonAndEmptyFieldsAreLeftOut) {
  EXPECT_EQ(log_members("two\nlines", {{"namespace", "team"}, {"job", "a\"b"}, {"reason", ""}}),
            R"("message":"two\nlines","namespace":"team","job":"a\"b")");
}

}  // namespace
}  // namespace caravan::controller::testing
