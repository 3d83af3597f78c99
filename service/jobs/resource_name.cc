#include "service/jobs/resource_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/schema/message_text.h"
#include "kube/api/names.h"

namespace caravan::service {
namespace {

constexpr std::string_view kNamespaces = "namespaces/";
constexpr std::string_view kJobs = "/jobs/";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// An RFC 1123 name: of a label without dots.
bool is_name(std::string_view text, std::size_t longest, bool dots) {
  return !text.empty() && text.size() <= longest && is_plain(text.front()) && is_plain(text.back()) &&
         std::ranges::all_of(text, [dots](char c) { return is_plain(c) || c == '-' || (dots && c == '.'); });
}

tl::unexpected<Fault> no_name(const std::string& field, const char* form, std::string_view given) {
  return bad_field(field, fmt::format("expected {}, got {}", form, schema::in_quotes(given)));
}

}  // namespace

Answer<std::string> namespace_of(std::string_view parent, const std::string& field) {
  const bool begins = parent.starts_with(kNamespaces);
  const std::string_view rest = begins ? parent.substr(kNamespaces.size()) : std::string_view();
  if (!is_name(rest, kube::kLongestLabel, false)) return no_name(field, "namespaces/NAMESPACE", parent);
  return std::string(rest);
}

Answer<std::string> namespace_or_all_of(std::string_view parent) {
  return parent == "namespaces/-" ? Answer<std::string>("") : namespace_of(parent);
}

Answer<kube::ObjectKey> job_key_of(std::string_view name, const std::string& field) {
  const std::size_t at = name.find(kJobs);
  const std::string_view job = at == std::string_view::npos ? "" : name.substr(at + kJobs.size());
  const auto name_space = namespace_of(name.substr(0, at), field);
  if (!name_space || !is_name(job, kube::kLongestName, true))
    return no_name(field, "namespaces/NAMESPACE/jobs/JOB", name);
  return kube::ObjectKey{.name_space = *name_space, .name = std::string(job)};
}

std::string name_of(const kube::ObjectKey& job) {
  return fmt::format("{}{}{}{}", kNamespaces, job.name_space, kJobs, job.name);
}

}  // namespace caravan::service
