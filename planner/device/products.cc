#include "planner/device/products.h"

#include <fmt/format.h>

#include <array>
#include <span>

namespace caravan::planner {
namespace {

struct Row {
  const char* name;
  int64_t memory_mebibytes;
  double peak_teraflops;
  double matrix_teraflops;
  double fp32_teraflops;
  double memory_gigabytes;  // per second, as those below
  double node_gigabytes;
  double network_gigabytes;
  int devices_per_node = 8;
  int link_domain = 8;
};

// Peaks, memory and link bandwidths: the vendors' data sheets (without sparsity; NVLink and Infinity Fabric
// figures there count both directions). Network: one NIC of 200 or 400 Gb/s per GPU in DGX A100, H100, H200
// and B200, GB200 NVL72 and MI300X platforms, of 800 Gb/s in DGX B300; cards without NVLink talk over PCIe
// and share a node's 200 Gb/s NICs by two. Memory: the total that CUDA or HIP reports, as PyTorch's messages
// print it.
//
// FP32: the data sheets' rate without tensor cores; AMD's is that of its fp32 matrix instructions, which its
// library takes.
//
// Matrix rates are measured where somebody has published it: [S] stas00/ml-engineering, "Maximum Achievable
// Matmul FLOPS", bf16; [M] mag-/gpu_benchmark. Elsewhere [R]: the part of the peak that the nearest sibling
// of the same architecture reaches.
constexpr std::array kNvidia = {
    Row{"A100-40GB", 40326, 312, 271.2, 19.5, 1555, 300, 25},  // [S] the chip and clocks of the 80 GB one
    Row{"A100-80GB", 81050, 312, 271.2, 19.5, 2039, 300, 25},  // [S]
    Row{"A100-PCIe-40GB", 40326, 312, 252.9, 19.5, 1555, 32, 12.5},  // [S]
    Row{"A100-PCIe-80GB", 81050, 312, 252.9, 19.5, 1935, 32, 12.5},  // [S]
    Row{"H100-80GB", 81008, 989, 794.5, 67, 3350, 450, 50},          // [S]
    Row{"H100-PCIe", 81008, 756, 499.5, 51, 2000, 64, 12.5},         // [M]
    Row{"H100-NVL", 95346, 835, 488.5, 60, 3900, 64, 12.5},          // [M]
    Row{"H200", 143165, 989, 794.5, 67, 4800, 450, 50},              // [S]
    Row{"H200-NVL", 143165, 835, 488.5, 60, 4800, 64, 12.5},         // [R] H100-NVL
    Row{"B200", 182630, 2250, 1745, 75, 8000, 900, 50},              // [S]
    Row{"B300", 274114, 2250, 1769, 75, 8000, 900, 100},             // [S]
    Row{"GB200", 188733, 2500, 1822, 80, 8000, 900, 50, 4, 72},  // [S] 18 trays of four on one NVLink switch
    Row{"L40S", 45458, 362, 252, 91.6, 864, 32, 12.5},           // [M]
    Row{"L40", 45458, 181, 170.3, 90.5, 864, 32, 12.5},          // [M]
    Row{"L4", 22563, 121, 91.4, 30.3, 300, 32, 12.5},            // [M]
};

// MI250X: one of a module's two dies (GCD), which programs see as a device of its own. Half of the module's
// 383 TFLOPS and 3.2 TB/s, and an eighth of a Frontier node's four 200 Gb/s NICs; Infinity Fabric joins its
// dies by 50 to 200 GB/s, pair by pair (OLCF, "Frontier user guide").
constexpr std::array kAmd = {
    Row{"MI250X", 65516, 191.5, 97.9, 47.9, 1600, 100, 12.5},    // [R] MI300X
    Row{"MI300X", 196290, 1307.4, 668.4, 163.4, 5300, 448, 50},  // [S]
    Row{"MI325X", 261826, 1307.4, 784.9, 163.4, 6000, 448, 50},  // [S]
    Row{"MI355X", 294891, 2516, 1565, 157.3, 8000, 538, 50},     // [S]
};

struct Label {
  const char* label;
  const char* name;
};

// Products in the values of node labels, less what vendors put around them, and other names in use.
constexpr std::array kLabels = {
    Label{"A100-SXM4-40GB", "A100-40GB"},
    Label{"A100-SXM4-80GB", "A100-80GB"},
    Label{"A100", "A100-80GB"},
    Label{"A100-80GB-PCIe", "A100-PCIe-80GB"},
    Label{"A100-PCIE-40GB", "A100-PCIe-40GB"},
    Label{"H100-80GB-HBM3", "H100-80GB"},
    Label{"H100-SXM5-80GB", "H100-80GB"},
    Label{"H100", "H100-80GB"},
    Label{"H100-80GB-SXM", "H100-80GB"},
    Label{"H100-80GB-PCIe", "H100-PCIe"},
    Label{"H100-94GB-NVL", "H100-NVL"},
    Label{"H200-141GB", "H200"},
    Label{"H200-SXM-141GB", "H200"},
    Label{"B200-180GB", "B200"},
    Label{"B200-192GB", "B200"},
    Label{"B300-SXM6-AC", "B300"},
    Label{"GB200-NVL72", "GB200"},
    Label{"MI250X-GCD", "MI250X"},
    Label{"MI250X/MI250", "MI250X"},
};

// What vendors' programs put around a name.
constexpr std::array kNvidiaForms = {"NVIDIA-{}"};
constexpr std::array kAmdForms = {"AMD_Instinct_{}", "AMD_Instinct_{}_OAM", "AMD_Instinct_{}_VF"};

struct Vendor {
  const char* resource_name;  // of its device plugin
  std::span<const char* const> forms;
};

DeviceProduct product_of(const Row& row, const Vendor& vendor) {
  DeviceProduct product{.name = row.name,
                        .resource_name = vendor.resource_name,
                        .memory_bytes = row.memory_mebibytes << 20,
                        .peak_flops = row.peak_teraflops * 1e12,
                        .matrix_flops = row.matrix_teraflops * 1e12,
                        .fp32_flops = row.fp32_teraflops * 1e12,
                        .memory_bandwidth = row.memory_gigabytes * 1e9,
                        .node_bandwidth = row.node_gigabytes * 1e9,
                        .network_bandwidth = row.network_gigabytes * 1e9,
                        .devices_per_node = row.devices_per_node,
                        .link_domain = row.link_domain};
  const auto add_labels = [&](const char* name) {
    for (const char* form : vendor.forms) product.labels.push_back(fmt::format(fmt::runtime(form), name));
  };
  add_labels(row.name);
  for (const Label& label : kLabels) {
    if (product.name != label.name) continue;
    product.labels.emplace_back(label.label);
    add_labels(label.label);
  }
  return product;
}

}  // namespace

const std::vector<DeviceProduct>& built_in_products() {
  static const std::vector<DeviceProduct> products = [] {
    std::vector<DeviceProduct> all;
    all.reserve(kNvidia.size() + kAmd.size());
    for (const Row& row : kNvidia) all.push_back(product_of(row, {"nvidia.com/gpu", kNvidiaForms}));
    for (const Row& row : kAmd) all.push_back(product_of(row, {"amd.com/gpu", kAmdForms}));
    return all;
  }();
  return products;
}

}  // namespace caravan::planner
