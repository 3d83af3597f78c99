#include "cli/generate/prompt.h"

#include <fmt/format.h>

#include "common/readable_bytes.h"
#include "data/text_source.h"

namespace caravan::cli {

Result<std::string> read_prompt(const std::string& path) {
  auto source = data::TextSource::open(path);
  if (!source) return bad_input("--prompt: " + source.error().message);
  std::string text(kLongestPrompt + 1, '\0');
  const auto size = source->read(text);
  if (!size) return bad_input("--prompt: " + size.error().message);
  if (*size > kLongestPrompt) {
    return bad_input(fmt::format("--prompt: {}: larger than {}; give a shorter text to go on from",
                                 source->name(), readable_bytes(kLongestPrompt)));
  }
  text.resize(*size);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace caravan::cli
