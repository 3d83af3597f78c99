#include "checkpoint/folder/weights_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "checkpoint/safetensors/convert.h"

namespace caravan::checkpoint {
namespace {

constexpr int64_t kComparedAtOnce = 1 << 18;

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void add_values(const std::vector<double>& first, const std::vector<double>& second, TensorDifference& all) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (same(first[i], second[i])) continue;
    ++all.different;
    const double distance = std::abs(first[i] - second[i]);
    if (std::isnan(distance) || std::isnan(all.largest)) {
      all.largest = std::numeric_limits<double>::quiet_NaN();
    } else {
      all.largest = std::max(all.largest, distance);
    }
  }
}

Status compare_values(WeightsFolder& first, WeightsFolder& second, TensorDifference& all) {
  std::vector<double> ours, theirs;
  for (int64_t begin = 0; begin < all.elements; begin += kComparedAtOnce) {
    const auto count = static_cast<std::size_t>(std::min(kComparedAtOnce, all.elements - begin));
    ours.resize(count);
    theirs.resize(count);
    const auto read = [&](WeightsFolder& from, std::vector<double>& values) {
      return from.read(all.tensor, begin, ElementType::F64, std::as_writable_bytes(std::span(values)));
    };
    if (Status done = read(first, ours); !done) return done;
    if (Status done = read(second, theirs); !done) return done;
    add_values(ours, theirs, all);
  }
  return {};
}

// Of types that are no weights: the same or not, without a distance.
Status compare_bytes(WeightsFolder& first, WeightsFolder& second, ElementType type, TensorDifference& all) {
  std::vector<std::byte> ours, theirs;
  const auto size = static_cast<std::size_t>(element_bytes(type));
  for (int64_t begin = 0; begin < all.elements; begin += kComparedAtOnce) {
    const auto count = static_cast<std::size_t>(std::min(kComparedAtOnce, all.elements - begin));
    ours.resize(count * size);
    theirs.resize(count * size);
    if (Status done = first.read(all.tensor, begin, type, ours); !done) return done;
    if (Status done = second.read(all.tensor, begin, type, theirs); !done) return done;
    for (std::size_t i = 0; i < ours.size(); i += size)
      if (!std::equal(&ours[i], &ours[i] + size, &theirs[i])) ++all.different;
  }
  if (all.different > 0) {
    all.structure = fmt::format("{} of {} {} elements", all.different, all.elements, element_type_name(type));
  }
  return {};
}

Result<TensorDifference> compare(WeightsFolder& first, WeightsFolder& second, const std::string& name) {
  TensorDifference all{.tensor = name};
  const auto ours = first.find(name);
  if (!ours) return tl::unexpected(ours.error());
  const auto theirs = second.find(name);
  if (!theirs) return tl::unexpected(theirs.error());
  const std::vector<int64_t>& shape = (*ours)->shape;
  all.elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  if (shape != (*theirs)->shape) {
    all.structure =
        fmt::format("shape [{}] and [{}]", fmt::join(shape, ", "), fmt::join((*theirs)->shape, ", "));
    return all;
  }
  const ElementType type = (*ours)->type;
  const ElementType other = (*theirs)->type;
  if (is_floating(type) && is_floating(other))
    return compare_values(first, second, all).map([&] { return all; });
  if (type == other) return compare_bytes(first, second, type, all).map([&] { return all; });
  all.structure = fmt::format("{} and {}", element_type_name(type), element_type_name(other));
  return all;
}

}  // namespace

Result<std::vector<TensorDifference>> compare_weights(WeightsFolder& first, WeightsFolder& second) {
  const std::vector<std::string> ours = first.names();
  const std::vector<std::string> theirs = second.names();
  std::set<std::string> names(ours.begin(), ours.end());
  names.insert(theirs.begin(), theirs.end());
  std::vector<TensorDifference> differences;
  for (const std::string& name : names) {
    const bool in_first = std::ranges::binary_search(ours, name);
    if (!in_first || !std::ranges::binary_search(theirs, name)) {
      differences.push_back(
          {.tensor = name, .structure = in_first ? "is in the first alone" : "is in the second alone"});
      continue;
    }
    auto difference = compare(first, second, name);
    if (!difference) return tl::unexpected(difference.error());
    if (difference->different > 0 || !difference->structure.empty())
      differences.push_back(*std::move(difference));
  }
  return differences;
}

}  // namespace caravan::checkpoint
