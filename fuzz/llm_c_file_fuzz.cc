// Any bytes as an llm.c token file.
#include <cstddef>
#include <cstdint>

#include "common/testing/temporary_folder.h"
#include "fuzz/token_dataset_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const caravan::test::TemporaryFolder folder;
  folder.write("tokens.bin", caravan::fuzz::as_text({data, size}));
  caravan::fuzz::check_dataset(folder);
  return 0;
}
