// Any bytes as a Megatron pair: the first byte is the number of bytes of the `.bin`, which follow; the rest
// is the index.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/testing/temporary_folder.h"
#include "fuzz/token_dataset_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  const auto tokens = rest.first(std::min<std::size_t>(data[0], rest.size()));
  static const caravan::test::TemporaryFolder folder;
  folder.write("tokens.bin", caravan::fuzz::as_text(tokens));
  folder.write("tokens.idx", caravan::fuzz::as_text(rest.subspan(tokens.size())));
  caravan::fuzz::check_dataset(folder);
  return 0;
}
