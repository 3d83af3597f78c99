// Any bytes as model.safetensors.index.json: an error has a message, and every file that is taken is one of
// the folder that the index lies in.
#include <cstddef>
#include <cstdint>

#include "checkpoint/hugging_face/weight_map.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using caravan::fuzz::require;
  const std::string_view text = caravan::fuzz::text_of(data, size);
  const auto files = caravan::checkpoint::parse_weight_map(text);
  if (!files) {
    require(!files.error().message.empty(), "an error without a message", text);
    return 0;
  }
  for (const auto& [tensor, file] : *files) {
    require(!file.empty() && file != "." && file != "..", "a file without a name", text);
    require(file.find('/') == std::string::npos, "a file of another folder", text);
    require(file.find('\0') == std::string::npos, "a name that ends early", text);
  }
  return 0;
}
