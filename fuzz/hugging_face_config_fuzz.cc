// Any bytes as Hugging Face's config.json: an error has a message, and a shape that is taken is the same when
// it was written and read again.
#include <cstddef>
#include <cstdint>

#include "checkpoint/hugging_face/config.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caravan::checkpoint;
  using caravan::fuzz::require;
  const std::string_view text = caravan::fuzz::text_of(data, size);
  const auto tokens = parse_eos_tokens(text);
  require(tokens || !tokens.error().message.empty(), "an error without a message", text);
  const auto model = parse_config(text);
  if (!model) {
    require(!model.error().message.empty(), "an error without a message", text);
    return 0;
  }
  require(model->heads % model->kv_heads == 0 && model->head_dim % 2 == 0, "heads do not divide", text);
  const auto again = parse_config(config_json(*model, ElementType::BF16, 1));
  require(again && *again == *model, "it is read otherwise than it was written", text);
  return 0;
}
