#include "planner/device/own_devices.h"

#include <fmt/format.h>

#include "common/decimal.h"
#include "common/quantity.h"

namespace caravan::planner {
namespace {

// Part of the peak that matrix products reach on a product that nobody has measured: an H100's.
constexpr double kUsualMatrixFraction = 0.8;
// And part of that that fp32 products reach, which take no tensor cores: an A100's 1/14, a B200's 1/23.
constexpr double kUsualFp32Fraction = 1.0 / 16;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// Fills the numbers of a product one after the other and keeps the first mistake.
class EntryReader {
 public:
  EntryReader(std::string name, bool known) : name_(std::move(name)), known_(known) {}

  void number(const char* field, const std::string& text, double unit, double& target) {
    if (!is_given(field, text)) return;
    if (const auto value = parse_decimal(text)) target = *value * unit;
  }

  void bytes(const char* field, const std::string& text, int64_t& target) {
    if (!is_given(field, text)) return;
    const auto value = parse_quantity(text);
    target = value.value_or(0);
    if (target == 0) fail(fmt::format("{}: must be more than 0", field));
  }

  void fail(const std::string& message) {
    if (status_) status_ = bad_input(message);
  }

  Status status() const { return status_; }

 private:
  bool is_given(const char* field, const std::string& text) {
    if (text.empty() && !known_)
      fail(fmt::format("{}: is needed, since {} is not a product that Caravan knows", field, name_));
    return !text.empty();
  }

  std::string name_;
  bool known_;
  Status status_;
};

DeviceProduct starting_point(const v1alpha1::DeviceEntry& entry, const std::optional<DeviceProduct>& known) {
  DeviceProduct product = known.value_or(DeviceProduct{});
  product.name = entry.name();
  product.labels.insert(product.labels.end(), entry.labels().begin(), entry.labels().end());
  if (entry.has_devices_per_node()) product.devices_per_node = entry.devices_per_node();
  if (!known || !known->has_rack_switch()) product.link_domain = product.devices_per_node;
  if (entry.has_link_domain()) product.link_domain = entry.link_domain();
  return product;
}

void read_matrix_rate(const v1alpha1::DeviceEntry& entry, const std::optional<DeviceProduct>& known,
                      EntryReader& reader, DeviceProduct& product) {
  const double fraction = known ? known->matrix_flops / known->peak_flops : kUsualMatrixFraction;
  product.matrix_flops = fraction * product.peak_flops;
  if (entry.matrix_teraflops().empty()) return;
  reader.number("matrixTeraflops", entry.matrix_teraflops(), kTera, product.matrix_flops);
  if (product.matrix_flops > product.peak_flops)
    reader.fail("matrixTeraflops: must be at most peakTeraflops");
}

double fp32_rate(const std::optional<DeviceProduct>& known, const DeviceProduct& product) {
  if (known) return known->fp32_flops * product.peak_flops / known->peak_flops;
  return kUsualFp32Fraction * product.matrix_flops;
}

}  // namespace

Result<DeviceProduct> read_device(const v1alpha1::DeviceEntry& entry) {
  const auto known = find_device(entry.name());
  DeviceProduct product = starting_point(entry, known);
  EntryReader reader(entry.name(), known.has_value());
  reader.bytes("memory", entry.memory(), product.memory_bytes);
  reader.number("peakTeraflops", entry.peak_teraflops(), kTera, product.peak_flops);
  read_matrix_rate(entry, known, reader, product);
  product.fp32_flops = fp32_rate(known, product);
  reader.number("memoryGigabytesPerSecond", entry.memory_gigabytes_per_second(), kGiga,
                product.memory_bandwidth);
  reader.number("nodeGigabytesPerSecond", entry.node_gigabytes_per_second(), kGiga, product.node_bandwidth);
  reader.number("networkGigabytesPerSecond", entry.network_gigabytes_per_second(), kGiga,
                product.network_bandwidth);
  if (product.link_domain < product.devices_per_node)
    reader.fail("linkDomain: must be at least devicesPerNode");
  if (Status status = reader.status(); !status) return tl::unexpected(status.error());
  return product;
}

}  // namespace caravan::planner
