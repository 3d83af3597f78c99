#include "common/random_hex.h"

#include <fmt/format.h>

#include <random>

namespace caravan {

std::string random_hex(int bits) {
  std::random_device random;
  std::string digits;
  for (; bits > 0; bits -= 32) digits += fmt::format("{:08x}", random());
  return digits;
}

}  // namespace caravan
