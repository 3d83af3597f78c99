#include "common/arguments/number_between.h"

#include <fmt/format.h>

#include <string>

namespace caravan {

NumberBetween::NumberBetween(double least, double most)
    : CLI::Validator(fmt::format("FLOAT in [{} - {}]", least, most)) {
  func_ = [least, most](std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return std::string();
    return fmt::format("Value {} not in range [{} - {}]", text, least, most);
  };
}

}  // namespace caravan
