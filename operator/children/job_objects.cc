#include "operator/children/job_objects.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "common/host_port.h"
#include "operator/api/names.h"
#include "operator/children/content_note.h"
#include "operator/children/inherited_metadata.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

constexpr int kDnsPorts[] = {53, 5353};                           // the second is that of OpenShift's pods
constexpr char kNamespaceName[] = "kubernetes.io/metadata.name";  // every namespace has it

JsonObject select_pods(const Job& job) {
  return {{"matchLabels", JsonObject{{labels::kJobUid, job.uid}}}};
}

JsonObject port(const char* protocol, int number) {
  return {{"protocol", protocol}, {"port", number}};
}

int reports_port(const Settings& settings) {
  return std::stoi(port_of(settings.reports_address));
}

JsonObject pods_of(const std::string& name_space, const std::string& label, const std::string& value) {
  return {{"namespaceSelector", JsonObject{{"matchLabels", JsonObject{{kNamespaceName, name_space}}}}},
          {"podSelector", JsonObject{{"matchLabels", JsonObject{{label, value}}}}}};
}

JsonObject names_egress(const Settings& settings) {
  JsonArray servers;
  for (const NameServers& each : settings.name_servers) {
    servers.push_back(each.name_space.empty() ? JsonObject{{"ipBlock", JsonObject{{"cidr", each.addresses}}}}
                                              : pods_of(each.name_space, each.label, each.value));
  }
  JsonArray ports;
  for (const int number : kDnsPorts) {
    for (const char* protocol : {"UDP", "TCP"}) ports.push_back(port(protocol, number));
  }
  return {{"to", std::move(servers)}, {"ports", std::move(ports)}};
}

JsonObject reports_egress(const Settings& settings) {
  return {{"to", JsonArray{pods_of(settings.own_namespace, labels::kName, kOperator)}},
          {"ports", JsonArray{port("TCP", reports_port(settings))}}};
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
  JsonObject metadata{{"name", name},
                      {"namespace", job.key.name_space},
                      {"labels", job_labels(job)},
                      {"ownerReferences", JsonArray{kube::controller_reference(job.reference)}}};
  JsonObject& own_labels = metadata["labels"].as_object();
  for (const auto& [label, value] : inherited(job.labels)) own_labels.emplace(label, value);
  JsonObject annotations;
  for (const auto& [annotation, value] : inherited(job.annotations)) annotations[annotation] = value;
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  return metadata;
}

int first_attempt_of_plan(const v1alpha1::JobStatus& status) {
  return status.memory_correction().has_attempt() ? status.memory_correction().attempt() + 1 : 1;
}

std::string plan_name(const Job& job, int first_attempt) {
  const std::string name = job.key.name + "-plan";
  return first_attempt > 1 ? fmt::format("{}-a{}", name, first_attempt) : name;
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
      {"namespaceSelector", JsonObject{{"matchLabels", JsonObject{{labels::kMetrics, kEnabled}}}}}}};
  JsonArray egress{JsonObject{{"to", pods_of_the_job}}};
  if (!settings.name_servers.empty()) egress.push_back(names_egress(settings));
  if (!settings.reports_address.empty()) egress.push_back(reports_egress(settings));
  Json policy = JsonObject{
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "NetworkPolicy"},
      {"metadata", child_metadata(job, job.key.name)},
      {"spec", JsonObject{{"podSelector", select_pods(job)},
                          {"policyTypes", JsonArray{"Ingress", "Egress"}},
                          {"ingress", JsonArray{JsonObject{{"from", pods_of_the_job}},
                                                JsonObject{{"from", who_reads_metrics},
                                                           {"ports", JsonArray{port("TCP", kMetricsPort)}}}}},
                          {"egress", std::move(egress)}}}};
  note_content(fingerprint_of_text(boost::json::serialize(policy.at("spec"))), policy);
  return policy;
}

}  // namespace caravan::controller
