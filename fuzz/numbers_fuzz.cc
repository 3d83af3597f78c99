// Any text as a quantity and as a decimal: a quantity is written exactly and reads again; a decimal is
// finite.
#include <cmath>
#include <cstddef>

#include "common/decimal.h"
#include "common/quantity.h"
#include "fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using caravan::fuzz::require;
  const std::string_view text = caravan::fuzz::text_of(data, size);
  if (const auto quantity = caravan::parse_quantity(text)) {
    require(*quantity >= 0, "a quantity is negative", text);
    require(caravan::parse_quantity(caravan::exact_quantity(*quantity)).value_or(-1) == *quantity,
            "an exact quantity is another one", text);
    require(!caravan::readable_quantity(*quantity).empty(), "a quantity cannot be shown", text);
  }
  if (const auto decimal = caravan::parse_decimal(text)) require(std::isfinite(*decimal), "not finite", text);
  return 0;
}
