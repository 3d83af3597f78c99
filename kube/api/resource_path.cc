#include "kube/api/resource_path.h"

#include <fmt/format.h>

namespace caravan::kube {
namespace {

// RFC 3986, section 2.3; not isalnum, which asks the locale.
bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string collection_path(const ResourcePath& path) {
  const Resource& resource = path.resource;
  const std::string group =
      resource.group.empty() ? "api" : fmt::format("apis/{}", percent_encoded(resource.group));
  const std::string name_space =
      path.name_space.empty() ? "" : fmt::format("namespaces/{}/", percent_encoded(path.name_space));
  return fmt::format("/{}/{}/{}{}", group, percent_encoded(resource.version), name_space,
                     percent_encoded(resource.plural));
}

std::string object_path(const ResourcePath& path, std::string_view name, std::string_view subresource) {
  const std::string object = fmt::format("{}/{}", collection_path(path), percent_encoded(name));
  return subresource.empty() ? object : fmt::format("{}/{}", object, percent_encoded(subresource));
}

std::string query_string(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? '?' : '&', percent_encoded(name), percent_encoded(value));
  }
  return text;
}

}  // namespace caravan::kube
