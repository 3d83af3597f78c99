#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/load_devices.h"
#include "cli/terminal.h"
#include "common/json.h"
#include "common/readable_bytes.h"
#include "planner/engine_profile.h"
#include "planner/explain/table.h"
#include "planner/measured_error.h"

namespace caravan::cli {
namespace {

using planner::Align;
using planner::DeviceProduct;

struct DevicesOptions {
  std::string catalogue;
  std::string form = "text";
};

// Which predictions for one of it somebody has measured.
std::string validated(const DeviceProduct& product) {
  static const planner::EngineProfile profile = planner::default_engine_profile();
  planner::DevicePool one;
  one.known = product;
  const bool memory = planner::memory_error(one, profile).has_value();
  const bool speed = planner::step_time_error(one, profile).has_value();
  if (memory && speed) return "yes";
  if (memory) return "memory";
  return speed ? "speed" : "no";
}

std::string in(double unit, double value) {
  return fmt::format("{:.4g}", value / unit);
}

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

std::string text_of(const std::vector<DeviceProduct>& products) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(products.size());
  for (const DeviceProduct& product : products) {
    rows.push_back({product.name, readable_bytes(product.memory_bytes), in(kTera, product.peak_flops),
                    in(kTera, product.matrix_flops), in(kGiga, product.memory_bandwidth),
                    in(kGiga, product.node_bandwidth), in(kGiga, product.network_bandwidth),
                    std::to_string(product.link_domain), validated(product)});
  }
  return planner::format_table({{"product"},
                                {"memory", Align::Right},
                                {"peak", Align::Right},
                                {"matmul", Align::Right},
                                {"mem/s", Align::Right},
                                {"link/s", Align::Right},
                                {"net/s", Align::Right},
                                {"linked", Align::Right},
                                {"valid"}},
                               rows);
}

std::string json_of(const DeviceProduct& product) {
  std::vector<std::string> labels;
  for (const std::string& label : product.labels) labels.push_back(json_string(label));
  return fmt::format(R"({{"name":{},"labels":[{}],"memoryBytes":{},"peakFlops":{},"matrixFlops":{},)"
                     R"("memoryBytesPerSecond":{},"nodeBytesPerSecond":{},"networkBytesPerSecond":{},)"
                     R"("devicesPerNode":{},"linkDomain":{},"validated":{}}})"
                     "\n",
                     json_string(product.name), fmt::join(labels, ","), product.memory_bytes,
                     json_number(product.peak_flops), json_number(product.matrix_flops),
                     json_number(product.memory_bandwidth), json_number(product.node_bandwidth),
                     json_number(product.network_bandwidth), product.devices_per_node, product.link_domain,
                     json_string(validated(product)));
}

Result<std::vector<DeviceProduct>> products_of(const DevicesOptions& options) {
  std::vector<DeviceProduct> own;
  if (!options.catalogue.empty()) {
    auto loaded = load_devices(options.catalogue);
    if (!loaded) return loaded;
    own = *std::move(loaded);
  }
  std::vector<DeviceProduct> products;
  for (const std::string& name : planner::device_names(own))
    products.push_back(*planner::find_device(name, own));
  return products;
}

Result<ExitCode> print_devices(const DevicesOptions& options) {
  const auto products = products_of(options);
  if (!products) return tl::unexpected(products.error());
  if (options.form == "json") {
    for (const DeviceProduct& product : *products) fmt::print("{}", json_of(product));
    return ExitCode::kDone;
  }
  fmt::print(
      "{}{}", text_of(*products),
      planner::paragraph(
          "peak and matmul: dense bf16 TFLOP/s of the data sheet, and of large matrix products. "
          "mem/s, link/s and net/s: GB/s of the memory, to the devices that fast links join (as many as "
          "linked says), and to other nodes. valid: whether predictions for one of it were measured.",
          output_width()));
  return ExitCode::kDone;
}

}  // namespace

void add_devices_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DevicesOptions>();
  CLI::App* command =
      app.add_subcommand("devices", "Lists the GPUs that spec.resources.device.product names.");
  command
      ->add_option("--device-catalogue", options->catalogue,
                   "Your own hardware, a YAML file, which comes first")
      ->type_name("FILE");
  add_output_option(*command, options->form, {"text", "json"}, "Form of what is printed, a line each");
  command->callback([options, &action] { action = [options] { return print_devices(*options); }; });
}

}  // namespace caravan::cli
