#include "operator/children/job_objects.h"

#include <fmt/format.h>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

constexpr int kDnsPort = 53;

JsonObject select_pods(const Job& job) {
  return {{"matchLabels", JsonObject{{labels::kJobUid, job.uid}}}};
}

JsonObject port(const char* protocol, int number) {
  return {{"protocol", protocol}, {"port", number}};
}

int reports_port(const Settings& settings) {
  const auto colon = settings.reports_address.rfind(':');
  return std::stoi(settings.reports_address.substr(colon + 1));
}

}  // namespace

JsonObject job_labels(const Job& job) {
  return {{labels::kName, "caravan"},
          {labels::kInstance, job.key.name},
          {labels::kManagedBy, kManager},
          {labels::kJobName, job.key.name},
          {labels::kJobUid, job.uid}};
}

JsonObject child_metadata(const Job& job, const std::string& name) {
  return {{"name", name},
          {"namespace", job.key.name_space},
          {"labels", job_labels(job)},
          {"ownerReferences", JsonArray{kube::controller_reference(job.reference)}}};
}

std::string plan_name(const Job& job) {
  return job.key.name + "-plan";
}

std::string certificates_name(const Job& job) {
  return fmt::format("{}-tls-{}", job.key.name, job.uid.substr(0, 8));
}

std::string account_name(const Job& job) {
  const std::string& wanted = job.spec.worker().service_account_name();
  return wanted.empty() ? job.key.name : wanted;
}

std::string coordinator_host(const Job& job) {
  return fmt::format("{0}-0.{0}.{1}.svc", job.key.name, job.key.name_space);
}

Json service_intent(const Job& job) {
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", child_metadata(job, job.key.name)},
      {"spec", JsonObject{{"clusterIP", "None"},
                          {"publishNotReadyAddresses", true},
                          {"selector", JsonObject{{labels::kJobUid, job.uid}}},
                          {"ports", JsonArray{JsonObject{{"name", "coordinator"}, {"port", kCoordinatorPort}},
                                              JsonObject{{"name", "metrics"}, {"port", kMetricsPort}}}}}}};
}

Json account_intent(const Job& job) {
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ServiceAccount"},
                    {"metadata", child_metadata(job, job.key.name)},
                    {"automountServiceAccountToken", false}};
}

Json network_policy_intent(const Job& job, const Settings& settings) {
  const JsonArray pods_of_the_job{JsonObject{{"podSelector", select_pods(job)}}};
  const JsonArray who_reads_metrics{JsonObject{
      {"namespaceSelector", JsonObject{{"matchLabels", JsonObject{{labels::kMetrics, kMetricsEnabled}}}}}}};
  JsonArray outside{port("UDP", kDnsPort), port("TCP", kDnsPort)};
  if (!settings.reports_address.empty()) outside.push_back(port("TCP", reports_port(settings)));
  return JsonObject{
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "NetworkPolicy"},
      {"metadata", child_metadata(job, job.key.name)},
      {"spec", JsonObject{{"podSelector", select_pods(job)},
                          {"policyTypes", JsonArray{"Ingress", "Egress"}},
                          {"ingress", JsonArray{JsonObject{{"from", pods_of_the_job}},
                                                JsonObject{{"from", who_reads_metrics},
                                                           {"ports", JsonArray{port("TCP", kMetricsPort)}}}}},
                          {"egress",
                           JsonArray{JsonObject{{"to", pods_of_the_job}}, JsonObject{{"ports", outside}}}}}}};
}

}  // namespace caravan::controller
