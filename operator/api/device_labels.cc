#include "operator/api/device_labels.h"

#include "common/quantity.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

constexpr std::int64_t kHalfAGibibyte = std::int64_t{1} << 29;

std::optional<std::int64_t> mebibytes(const std::string& value) {
  const auto bytes = parse_quantity(value + "Mi");
  return bytes ? std::optional(*bytes) : std::nullopt;
}

std::optional<std::int64_t> rounded_gibibytes(const std::string& value) {
  if (!value.ends_with('G')) return std::nullopt;
  const auto bytes = parse_quantity(value + "i");
  return bytes && *bytes > kHalfAGibibyte ? std::optional(*bytes - kHalfAGibibyte) : std::nullopt;
}

constexpr DeviceLabels kNvidia{labels::kNvidiaProduct, labels::kNvidiaMemory, mebibytes};
constexpr DeviceLabels kAmd{labels::kAmdProduct, labels::kAmdMemory, rounded_gibibytes};

}  // namespace

bool is_gpu(std::string_view resource_name) {
  return resource_name.ends_with("/gpu");
}

const DeviceLabels& labels_of(const std::string& resource_name) {
  return resource_name.starts_with("amd.com/") ? kAmd : kNvidia;
}

}  // namespace caravan::controller
