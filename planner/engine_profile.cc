#include "planner/engine_profile.h"

#include <fmt/format.h>

#include "common/decimal.h"
#include "common/json.h"
#include "common/quantity.h"
#include "planner/profiles/embedded_profile.h"

namespace caravan::planner {
namespace {

// Reads one field after the other and keeps the first mistake.
class FieldReader {
 public:
  double decimal(const char* field, const std::string& text) { return take(field, parse_decimal(text), 0.0); }
  int64_t bytes(const char* field, const std::string& text) {
    return take(field, parse_quantity(text), int64_t{0});
  }

  Status status() const { return status_; }

 private:
  template <typename T>
  T take(const char* field, const Result<T>& parsed, T fallback) {
    if (parsed) return *parsed;
    if (status_) status_ = bad_input(fmt::format("{}: {}", field, parsed.error().message));
    return fallback;
  }

  Status status_;
};

}  // namespace

Result<EngineProfile> read_engine_profile(const v1alpha1::EngineProfile& message) {
  FieldReader read;
  const EngineProfile profile{
      .name = message.name(),
      .gradient_bytes = message.gradient_bytes(),
      .master_bytes = message.master_bytes(),
      .moment_bytes = message.moment_bytes(),
      .gpu_context_bytes = read.bytes("gpuContext", message.gpu_context()),
      .gpu_communication_group_bytes = read.bytes("gpuCommunicationGroup", message.gpu_communication_group()),
      .gpu_fragmentation = read.decimal("gpuFragmentation", message.gpu_fragmentation()),
      .memory_margin = read.decimal("memoryMargin", message.memory_margin()),
      .gemm_efficiency = read.decimal("gemmEfficiency", message.gemm_efficiency()),
      .gemm_half_size = read.decimal("gemmHalfSize", message.gemm_half_size()),
      .attention_efficiency = read.decimal("attentionEfficiency", message.attention_efficiency()),
      .layer_memory_passes = read.decimal("layerMemoryPasses", message.layer_memory_passes()),
      .layer_overhead_seconds = read.decimal("layerOverheadSeconds", message.layer_overhead_seconds()),
      .node_bandwidth_fraction = read.decimal("nodeBandwidthFraction", message.node_bandwidth_fraction()),
      .network_bandwidth_fraction =
          read.decimal("networkBandwidthFraction", message.network_bandwidth_fraction()),
      .data_overlap = read.decimal("dataOverlap", message.data_overlap()),
      .overrule_gain = read.decimal("overruleGain", message.overrule_gain()),
  };
  if (Status status = read.status(); !status) return tl::unexpected(status.error());
  return profile;
}

// A profile that cannot be read would have been built in by mistake: the tests see to that.
EngineProfile default_engine_profile() {
  return read_engine_profile(from_json<v1alpha1::EngineProfile>(kEmbeddedProfileJson).value()).value();
}

}  // namespace caravan::planner
