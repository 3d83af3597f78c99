#include "worker/trainer/comm/overlap_wish.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace caravan::trainer {

bool wants_overlap(bool otherwise) {
  const char* const wanted = std::getenv("CARAVAN_OVERLAP");
  if (wanted == nullptr) return otherwise;
  const std::string_view wish(wanted);
  if (wish == "on") return true;
  if (wish == "off") return false;
  throw std::runtime_error(fmt::format("CARAVAN_OVERLAP is '{}': take on or off, or leave it out", wish));
}

}  // namespace caravan::trainer
