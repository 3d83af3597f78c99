// Any bytes as a checkpoint's manifest.json: an error has a message, and what is taken can be written and
// read again. So that more than the sum is tried, JSON that is a manifest is also tried with the sum that
// belongs to it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "checkpoint/format/manifest.h"
#include "common/json_of_any_version.h"
#include "fuzz/require.h"

namespace {

using caravan::checkpoint::FilePlan;
using caravan::fuzz::require;
using caravan::v1alpha1::CheckpointManifest;

void check(std::string_view text) {
  const auto manifest = caravan::checkpoint::parse_manifest(text);
  if (!manifest) return require(!manifest.error().message.empty(), "an error without a message", text);
  const std::string again = caravan::checkpoint::manifest_text(*manifest);
  require(caravan::checkpoint::parse_manifest(again).has_value(), "what is written of it is not read", again);
  const FilePlan plan = caravan::checkpoint::plan_of(*manifest);
  for (const auto& file : plan.files())
    require(file.length >= static_cast<std::int64_t>(file.header.size()), "a file is shorter than its header",
            text);
  for (const auto kind : caravan::checkpoint::kStateKinds) {
    for (std::size_t i = 0; plan.has(kind) && i < plan.tensors().size(); ++i) {
      const auto place = plan.place(kind, i);
      require(place.offset >= 0 && place.offset <= plan.files()[place.file].length, "a tensor lies outside",
              text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = caravan::fuzz::text_of(data, size);
  check(text);
  const auto forged = caravan::from_json_of_any_version<CheckpointManifest>(text);
  if (forged) check(caravan::checkpoint::manifest_text(forged->message));
  return 0;
}
