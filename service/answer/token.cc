#include "service/answer/token.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "kube/api/json.h"
#include "kube/config/base64.h"

namespace caravan::service {

std::string token_of(const std::vector<std::string>& request, const std::vector<std::string>& place) {
  kube::JsonArray parts(request.begin(), request.end());
  parts.insert(parts.end(), place.begin(), place.end());
  return kube::encode_base64(boost::json::serialize(parts));
}

std::optional<std::vector<std::string>> place_of_token(const std::string& token,
                                                       const std::vector<std::string>& request,
                                                       std::size_t parts_of_place) {
  const auto text = kube::decode_base64(token, "token");
  const auto parsed = text.and_then([](const std::string& json) { return kube::parse_json(json, "token"); });
  const kube::JsonArray* parts = parsed ? parsed->if_array() : nullptr;
  if (parts == nullptr || parts->size() != request.size() + parts_of_place) return std::nullopt;
  if (!std::ranges::all_of(*parts, [](const kube::Json& part) { return part.is_string(); }))
    return std::nullopt;
  std::vector<std::string> texts;
  for (const kube::Json& part : *parts) texts.emplace_back(part.get_string());
  if (!std::equal(request.begin(), request.end(), texts.begin())) return std::nullopt;
  texts.erase(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(request.size()));
  return texts;
}

}  // namespace caravan::service
