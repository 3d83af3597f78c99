#include "service/answer/paging.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "kube/api/json.h"
#include "kube/config/base64.h"

namespace caravan::service {
namespace {

constexpr int kUsualPage = 100;
constexpr int kLongestPage = 1000;

}  // namespace

Answer<std::size_t> page_size_of(int asked) {
  if (asked < 0) return bad_field("page_size", "expected a number from 0");
  return static_cast<std::size_t>(asked == 0 ? kUsualPage : std::min(asked, kLongestPage));
}

std::string page_token_of(const std::vector<std::string>& request, const std::vector<std::string>& place) {
  kube::JsonArray parts(request.begin(), request.end());
  parts.insert(parts.end(), place.begin(), place.end());
  return kube::encode_base64(boost::json::serialize(parts));
}

Answer<std::vector<std::string>> place_of_page_token(const std::string& token,
                                                     const std::vector<std::string>& request,
                                                     std::size_t parts_of_place) {
  const auto text = kube::decode_base64(token, "page_token");
  const auto parsed =
      text.and_then([](const std::string& json) { return kube::parse_json(json, "page_token"); });
  const kube::JsonArray* parts = parsed ? parsed->if_array() : nullptr;
  std::vector<std::string> found;
  if (parts != nullptr && parts->size() == request.size() + parts_of_place) {
    for (const kube::Json& part : *parts) {
      if (part.is_string()) found.emplace_back(part.get_string());
    }
  }
  const bool is_ours = found.size() == request.size() + parts_of_place &&
                       std::equal(request.begin(), request.end(), found.begin());
  if (!is_ours)
    return bad_field("page_token",
                     "expected that of the page before, with all but page_size as it was there");
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(request.size()));
  return found;
}

}  // namespace caravan::service
