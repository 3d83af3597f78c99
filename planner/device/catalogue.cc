#include "planner/device/catalogue.h"

#include <algorithm>
#include <cctype>

#include "planner/device/products.h"

namespace caravan::planner {
namespace {

void remove_prefix(std::string& text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
}

void remove_suffix(std::string& text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.erase(text.size() - suffix.size());
}

// What vendors and their labels put around a product's name does not tell products apart.
std::string normalised(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* vendor : {"nvidia-", "amd-", "instinct-"}) remove_prefix(result, vendor);
  for (const char* form : {"-vf", "-oam"}) remove_suffix(result, form);
  return result;
}

bool goes_by(const DeviceProduct& product, const std::string& wanted) {
  return normalised(product.name) == wanted ||
         std::ranges::any_of(product.labels,
                             [&](const std::string& label) { return normalised(label) == wanted; });
}

}  // namespace

std::optional<DeviceProduct> find_among(const std::vector<DeviceProduct>& products,
                                        std::string_view product) {
  const std::string wanted = normalised(product);
  const auto found =
      std::ranges::find_if(products, [&](const DeviceProduct& known) { return goes_by(known, wanted); });
  return found == products.end() ? std::nullopt : std::optional(*found);
}

std::optional<DeviceProduct> find_device(std::string_view product, const std::vector<DeviceProduct>& own) {
  if (auto known = find_among(own, product)) return known;
  return find_among(built_in_products(), product);
}

std::vector<std::string> device_names(const std::vector<DeviceProduct>& own) {
  std::vector<std::string> names;
  for (const auto* products : {&own, &built_in_products()}) {
    for (const DeviceProduct& known : *products) {
      if (std::ranges::find(names, known.name) == names.end()) names.push_back(known.name);
    }
  }
  return names;
}

}  // namespace caravan::planner
