#include "worker/trainer/comm/overlap_wish.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace caravan::trainer {

Result<bool> wants_overlap(bool otherwise) {
  const char* const wanted = std::getenv("CARAVAN_OVERLAP");
  const std::string_view wish = wanted == nullptr ? "" : wanted;
  if (wish.empty()) return otherwise;
  if (wish == "on") return true;
  if (wish == "off") return false;
  return bad_input(fmt::format("CARAVAN_OVERLAP is '{}': take on or off, or leave it out", wish));
}

}  // namespace caravan::trainer
