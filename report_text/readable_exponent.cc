#include "report_text/readable_exponent.h"

#include <fmt/format.h>

namespace caravan {

std::string readable_exponent(double value) {
  std::string text = fmt::format("{:.1e}", value);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  std::size_t zero = exponent + 2;
  while (zero + 1 < text.size() && text[zero] == '0') text.erase(zero, 1);
  if (text[exponent + 1] == '+') text.erase(exponent + 1, 1);
  return text;
}

}  // namespace caravan
