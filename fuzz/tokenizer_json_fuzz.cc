// Any bytes as a tokenizer.json, up to a NUL byte, and as the text that it takes apart: an error has a
// message, tokens lie in the text, in order, with ids of the vocabulary, and they have a text again.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "rust/caravan_ffi.h"

namespace {

using caravan::fuzz::require;

struct Error {
  ~Error() {
    if (message != nullptr) caravan_string_free(message);
  }
  char* message = nullptr;
};

void check_text(const CaravanTokenizer& tokenizer, const std::vector<std::uint32_t>& ids,
                std::string_view text) {
  Error error;
  char* again = caravan_tokenizer_decode(&tokenizer, ids.data(), ids.size(), &error.message);
  require(again != nullptr || error.message != nullptr, "neither a text nor an error", text);
  if (again != nullptr) caravan_string_free(again);
}

void check_tokens(const CaravanTokenizer& tokenizer, std::string_view text) {
  Error error;
  std::size_t count = 0;
  CaravanToken* tokens =
      caravan_tokenizer_encode(&tokenizer, text.data(), text.size(), &count, &error.message);
  if (tokens == nullptr) return require(error.message != nullptr, "an error without a message", text);
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(tokens[i].id);
    require(tokens[i].begin <= text.size(), "a token lies outside of the text", text);
    require(i == 0 || tokens[i - 1].begin <= tokens[i].begin, "tokens are not in order", text);
    require(tokens[i].id < caravan_tokenizer_vocabulary(&tokenizer), "an id outside of the vocabulary", text);
  }
  caravan_tokens_free(tokens, count);
  check_text(tokenizer, ids, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = caravan::fuzz::text_of(data, size);
  const std::string_view json = input.substr(0, input.find('\0'));
  const std::string_view text = json.size() < input.size() ? input.substr(json.size() + 1) : "a text";
  Error error;
  const std::unique_ptr<CaravanTokenizer, decltype(&caravan_tokenizer_free)> tokenizer(
      caravan_tokenizer_load(json.data(), json.size(), &error.message), &caravan_tokenizer_free);
  if (tokenizer == nullptr) {
    require(error.message != nullptr, "an error without a message", json);
  } else {
    check_tokens(*tokenizer, text);
  }
  return 0;
}
