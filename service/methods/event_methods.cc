#include "service/methods/event_methods.h"

#include <algorithm>
#include <regex>

#include "operator/api/names.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::JobEventRecord;

constexpr int kPage = 500;
constexpr std::size_t kLongestPage = std::size_t{4} << 20;
constexpr std::size_t kMostEvents = 1000;  // the latest ones

bool is_pod_of(const std::string& pod, const std::string& job) {
  static const std::regex kEnding("^-[0-9]+-a[0-9]+$");
  return pod.starts_with(job) && std::regex_match(pod.substr(job.size()), kEnding);
}

// Of a series the last time, of an event that came once its own.
std::string time_of(const kube::Json& event) {
  for (std::string time :
       {kube::text_at(event, {"series", "lastObservedTime"}), kube::text_at(event, {"eventTime"}),
        kube::text_at(event, {"deprecatedLastTimestamp"}),
        kube::text_at(event, {"metadata", "creationTimestamp"})}) {
    if (!time.empty()) return time;
  }
  return "";
}

}  // namespace

std::optional<JobEventRecord> record_of(const kube::Json& event, const std::string& job) {
  const std::string kind = kube::text_at(event, {"regarding", "kind"});
  const std::string name = kube::text_at(event, {"regarding", "name"});
  const bool is_ours = (kind == controller::kKind && name == job) || (kind == "Pod" && is_pod_of(name, job));
  if (!is_ours) return std::nullopt;
  JobEventRecord record;
  record.set_time(time_of(event));
  record.set_type(kube::text_at(event, {"type"}));
  record.set_reason(kube::text_at(event, {"reason"}));
  record.set_message(kube::text_at(event, {"note"}));
  record.set_about(kind + "/" + name);
  const auto series = kube::integer_at(event, {"series", "count"});
  record.set_count(
      static_cast<int>(series.value_or(kube::integer_at(event, {"deprecatedCount"}).value_or(1))));
  return record;
}

Answer<v1alpha1::ListEventsResponse> EventMethods::list_events(const Call& call,
                                                               const v1alpha1::ListEventsRequest& request) {
  const auto key = job_key_of(request.parent(), "parent");
  if (!key) return tl::unexpected(key.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  std::vector<JobEventRecord> found;
  kube::ListOptions at{.limit = kPage, .longest_answer = kLongestPage};
  do {
    const auto page =
        (*client)->list_page(call.context, {.resource = kube::kEvents, .name_space = key->name_space}, at);
    if (!page) return tl::unexpected(caller_fault_of(page.error()));
    for (const kube::Json& event : page->items) {
      if (auto record = record_of(event, key->name)) found.push_back(std::move(*record));
    }
    at.continue_token = page->continue_token;
  } while (!at.continue_token.empty());
  std::ranges::stable_sort(found, {}, &JobEventRecord::time);
  v1alpha1::ListEventsResponse response;
  const std::size_t first = found.size() > kMostEvents ? found.size() - kMostEvents : 0;
  for (std::size_t i = first; i < found.size(); ++i) *response.add_events() = std::move(found[i]);
  return response;
}

}  // namespace caravan::service
