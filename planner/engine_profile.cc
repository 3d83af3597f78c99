#include "planner/engine_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

  std::optional<double> decimal_if_given(const char* field, const std::string& text) {
    if (text.empty()) return std::nullopt;
    return decimal(field, text);
  }

  void refuse(std::string message) {
    if (status_) status_ = bad_input(std::move(message));
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

// The schema lets nothing else through.
StageSplit read_stage_split(const std::string& text) {
  if (text == "Even") return StageSplit::Even;
  return text == "Filled" ? StageSplit::Filled : StageSplit::Balanced;
}

std::optional<ActivationCoefficients> read_activations(const v1alpha1::EngineProfile& message,
                                                       FieldReader& read) {
  const std::pair<const char*, const std::string&> fields[] = {
      {"layerReplicatedBytes", message.layer_replicated_bytes()},
      {"layerHiddenBytes", message.layer_hidden_bytes()},
      {"layerFfnBytes", message.layer_ffn_bytes()},
      {"logitsBytes", message.logits_bytes()}};
  const auto missing = [](const auto& field) { return field.second.empty(); };
  if (std::ranges::all_of(fields, missing)) return std::nullopt;
  for (const auto& field : fields) {
    if (missing(field))
      read.refuse(fmt::format("{}: needed where another coefficient of activations is given", field.first));
  }
  return ActivationCoefficients{
      .replicated = read.decimal("layerReplicatedBytes", message.layer_replicated_bytes()),
      .hidden = read.decimal("layerHiddenBytes", message.layer_hidden_bytes()),
      .ffn = read.decimal("layerFfnBytes", message.layer_ffn_bytes()),
      .scores = read.decimal_if_given("layerScoreBytes", message.layer_score_bytes()).value_or(0),
      .logits = read.decimal("logitsBytes", message.logits_bytes()),
      .gathered_logits =
          read.decimal_if_given("gatheredLogitsBytes", message.gathered_logits_bytes()).value_or(0),
      .logits_sharded = !message.has_logits_sharded() || message.logits_sharded()};
}

}  // namespace

Result<EngineProfile> read_engine_profile(const v1alpha1::EngineProfile& message) {
  FieldReader read;
  const EngineProfile profile{
      .name = message.name(),
      .stage_split = read_stage_split(message.stage_split()),
      .max_virtual_stages = message.has_max_virtual_stages() ? message.max_virtual_stages() : 1,
      .max_zero_stage = message.has_max_zero_stage() ? message.max_zero_stage() : 1,
      .activations = read_activations(message, read),
      .gradient_bytes = message.gradient_bytes(),
      .gradient_wire_bytes =
          message.has_gradient_wire_bytes() ? message.gradient_wire_bytes() : message.gradient_bytes(),
      .master_bytes = message.master_bytes(),
      .moment_bytes = message.moment_bytes(),
      .gpu_context_bytes = read.bytes("gpuContext", message.gpu_context()),
      .gpu_communication_group_bytes = read.bytes("gpuCommunicationGroup", message.gpu_communication_group()),
      .gpu_fragmentation = read.decimal("gpuFragmentation", message.gpu_fragmentation()),
      .memory_margin = read.decimal("memoryMargin", message.memory_margin()),
      .gemm_efficiency = read.decimal("gemmEfficiency", message.gemm_efficiency()),
      .gemm_half_size = read.decimal("gemmHalfSize", message.gemm_half_size()),
      .attention_efficiency = read.decimal("attentionEfficiency", message.attention_efficiency()),
      .segment_attention_efficiency =
          read.decimal_if_given("segmentAttentionEfficiency", message.segment_attention_efficiency()),
      .layer_memory_passes = read.decimal("layerMemoryPasses", message.layer_memory_passes()),
      .layer_overhead_seconds = read.decimal("layerOverheadSeconds", message.layer_overhead_seconds()),
      .collective_latency_seconds =
          read.decimal_if_given("collectiveLatencySeconds", message.collective_latency_seconds()).value_or(0),
      .node_bandwidth_fraction = read.decimal("nodeBandwidthFraction", message.node_bandwidth_fraction()),
      .network_bandwidth_fraction =
          read.decimal("networkBandwidthFraction", message.network_bandwidth_fraction()),
      .split_transfers = message.split_transfers(),
      .data_overlap = read.decimal("dataOverlap", message.data_overlap()),
      .overrule_gain = read.decimal("overruleGain", message.overrule_gain()),
      .step_time_error = read.decimal_if_given("stepTimeError", message.step_time_error()),
      .memory_error = read.decimal_if_given("memoryError", message.memory_error()),
      .measured_product = message.measured_product(),
      .measured_devices = message.measured_devices(),
      .cpu_memory_error = read.decimal_if_given("cpuMemoryError", message.cpu_memory_error()),
  };
  if (Status status = read.status(); !status) return tl::unexpected(status.error());
  return profile;
}

// A profile that cannot be read would have been built in by mistake: the tests see to that.
EngineProfile default_engine_profile() {
  return read_engine_profile(from_json<v1alpha1::EngineProfile>(kEmbeddedProfileJson).value()).value();
}

}  // namespace caravan::planner
