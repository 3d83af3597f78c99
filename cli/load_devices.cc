#include "cli/load_devices.h"

#include <fmt/format.h>

#include "caravan/v1alpha1/devices.pb.h"
#include "cli/load_message.h"
#include "common/standard_stream.h"
#include "planner/device/own_devices.h"

namespace caravan::cli {

Result<std::vector<planner::DeviceProduct>> load_devices(const std::string& path) {
  v1alpha1::DeviceCatalogue message;
  const auto root = load_yaml_message(path, message);
  if (!root) return tl::unexpected(root.error());
  const schema::Node& entries = *schema::find_entry(*root, "devices");
  std::vector<planner::DeviceProduct> products;
  std::string mistakes;
  for (int i = 0; i < message.devices_size(); ++i) {
    const auto product = planner::read_device(message.devices(i));
    if (product) {
      products.push_back(*product);
    } else {
      mistakes += fmt::format("{}{}:{}: devices[{}].{}", mistakes.empty() ? "" : "\n", input_name(path),
                              entries.children[i].line, i, product.error().message);
    }
  }
  if (!mistakes.empty()) return bad_input(mistakes);
  return products;
}

}  // namespace caravan::cli
