#include "cli/cluster/service/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "common/json.h"

namespace caravan::cli {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

Json in_order(const Json& value) {
  if (value.is_array()) {
    JsonArray ordered;
    for (const Json& one : value.get_array()) ordered.push_back(in_order(one));
    return ordered;
  }
  if (!value.is_object()) return value;
  std::map<std::string_view, const Json*> fields;
  for (const auto& field : value.get_object()) fields[field.key()] = &field.value();
  JsonObject ordered;
  for (const auto& [name, field] : fields) ordered[name] = in_order(*field);
  return ordered;
}

// A key or value that stands for itself in a filter.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<std::string> term_of(std::string_view requirement) {
  const std::size_t at = std::min(requirement.find('='), requirement.find("!="));
  const bool is_unequal = requirement.substr(std::min(at, requirement.size())).starts_with("!=");
  const std::string_view key = without_spaces(requirement.substr(0, at));
  std::string_view value = at == std::string_view::npos ? "" : requirement.substr(at + (is_unequal ? 2 : 1));
  if (!is_unequal && value.starts_with('=')) value.remove_prefix(1);
  value = without_spaces(value);
  if (key.empty() || value.empty() || !is_plain(key) || !is_plain(value)) {
    return bad_input(fmt::format(
        "--selector: the job service selects by KEY=VALUE and KEY!=VALUE, joined by commas, got {}; "
        "without --server the API server takes any other form",
        requirement));
  }
  return fmt::format("labels.{}{}\"{}\"", key, is_unequal ? "!=" : "=", value);
}

}  // namespace

std::string parent_of(const std::string& name_space) {
  return "namespaces/" + (name_space.empty() ? "-" : name_space);
}

std::string resource_name_of(const std::string& name_space, const std::string& job) {
  return fmt::format("{}/jobs/{}", parent_of(name_space), job);
}

Json job_document(const v1alpha1::Job& job) {
  Json document = kube::parse_json(to_json(job.object()), "a job").value();
  Json& metadata = document.as_object()["metadata"];
  if (!metadata.is_object()) metadata = JsonObject();
  for (const auto& [field, value] :
       {std::pair("creationTimestamp", job.create_time()), std::pair("deletionTimestamp", job.delete_time()),
        std::pair("resourceVersion", job.etag()), std::pair("uid", job.uid())}) {
    if (!value.empty()) metadata.get_object()[field] = value;
  }
  return in_order(document);
}

Json event_document(const v1alpha1::JobEventRecord& event) {
  const std::size_t at = event.about().find('/');
  const std::string kind = event.about().substr(0, at);
  const std::string name = at == std::string::npos ? "" : event.about().substr(at + 1);
  return JsonObject{{"apiVersion", "events.k8s.io/v1"},
                    {"deprecatedCount", event.count()},
                    {"eventTime", event.time()},
                    {"kind", "Event"},
                    {"note", event.message()},
                    {"reason", event.reason()},
                    {"regarding", JsonObject{{"kind", kind}, {"name", name}}},
                    {"type", event.type()}};
}

JsonArray quota_documents(const v1alpha1::Capacity& capacity) {
  std::map<std::string, std::pair<JsonObject, JsonObject>> quotas;  // hard and used, by name
  for (const v1alpha1::QuotaLimit& limit : capacity.quotas()) {
    auto& [hard, used] = quotas[limit.quota()];
    hard[limit.resource()] = limit.hard();
    used[limit.resource()] = limit.used();
  }
  JsonArray documents;
  for (auto& [name, amounts] : quotas) {
    documents.push_back(JsonObject{
        {"metadata", JsonObject{{"name", name}}},
        {"status", JsonObject{{"hard", std::move(amounts.first)}, {"used", std::move(amounts.second)}}}});
  }
  return documents;
}

Result<std::string> filter_of_labels(const std::string& selector) {
  std::string filter;
  std::string_view rest = selector;
  while (!rest.empty()) {
    const std::size_t end = rest.find(',');
    auto term = term_of(rest.substr(0, end));
    if (!term) return term;
    filter += (filter.empty() ? "" : " AND ") + *term;
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return filter;
}

}  // namespace caravan::cli
