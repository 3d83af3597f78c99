#include "planner/device/catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace caravan::planner {
namespace {

constexpr int64_t mebibytes(int64_t count) {
  return count << 20;
}

// Sources: NVIDIA's data sheets of each product (peaks without sparsity, memory and NVLink bandwidth; NVLink
// figures there count both directions), DGX A100, H100, H200 and B200 user guides (one NIC of 200 or 400 Gb/s
// per GPU), and total memory as cudaGetDeviceProperties prints it. Cards without NVLink talk over PCIe and
// share a node's 200 Gb/s NICs by two.
constexpr std::array kProducts = {
    DeviceProduct{"A100-40GB", mebibytes(40326), 312e12, 1.555e12, 300e9, 25e9, 8},
    DeviceProduct{"A100-80GB", mebibytes(81050), 312e12, 2.039e12, 300e9, 25e9, 8},
    DeviceProduct{"H100-80GB", mebibytes(81008), 989e12, 3.35e12, 450e9, 50e9, 8},
    DeviceProduct{"H100-PCIe", mebibytes(81008), 756e12, 2.0e12, 64e9, 12.5e9, 8},
    DeviceProduct{"H100-NVL", mebibytes(95346), 835e12, 3.9e12, 64e9, 12.5e9, 8},
    DeviceProduct{"H200", mebibytes(143165), 989e12, 4.8e12, 450e9, 50e9, 8},
    DeviceProduct{"B200", mebibytes(182630), 2250e12, 8.0e12, 900e9, 50e9, 8},
    DeviceProduct{"L40S", mebibytes(45458), 362e12, 0.864e12, 32e9, 12.5e9, 8},
    DeviceProduct{"L4", mebibytes(22563), 121e12, 0.3e12, 32e9, 12.5e9, 8},
};

struct Label {
  std::string_view label;
  std::string_view name;
};

// Values of nvidia.com/gpu.product, and other names in use.
constexpr std::array kLabels = {
    Label{"A100-SXM4-40GB", "A100-40GB"}, Label{"A100-PCIE-40GB", "A100-40GB"},
    Label{"A100-SXM4-80GB", "A100-80GB"}, Label{"A100-80GB-PCIe", "A100-80GB"},
    Label{"H100-80GB-HBM3", "H100-80GB"}, Label{"H100-SXM5-80GB", "H100-80GB"},
    Label{"H100", "H100-80GB"},           Label{"H100-80GB-SXM", "H100-80GB"},
    Label{"H100-80GB-PCIe", "H100-PCIe"}, Label{"A100", "A100-80GB"},
    Label{"H200-141GB", "H200"},          Label{"H200-SXM-141GB", "H200"},
    Label{"B200-180GB", "B200"},          Label{"B200-192GB", "B200"},
    Label{"H100-94GB-NVL", "H100-NVL"},
};

std::string normalised(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kVendor = "nvidia-";
  return result.rfind(kVendor, 0) == 0 ? result.substr(kVendor.size()) : result;
}

}  // namespace

std::optional<DeviceProduct> find_device(std::string_view product) {
  std::string wanted = normalised(product);
  for (const Label& label : kLabels) {
    if (normalised(label.label) == wanted) wanted = normalised(label.name);
  }
  for (const DeviceProduct& known : kProducts) {
    if (normalised(known.name) == wanted) return known;
  }
  return std::nullopt;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kProducts));
  for (const DeviceProduct& known : kProducts) names.emplace_back(known.name);
  return names;
}

}  // namespace caravan::planner
