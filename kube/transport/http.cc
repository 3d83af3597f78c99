#include "kube/transport/http.h"

#include <strings.h>

#include <algorithm>

namespace caravan::kube {

std::string_view header(const Headers& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& entry) {
    return entry.first.size() == name.size() &&
           strncasecmp(entry.first.data(), name.data(), name.size()) == 0;
  });
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace caravan::kube
