#include "service/answer/step_cursor.h"

#include "service/answer/token.h"

namespace caravan::service {

std::string text_of(StepCursor at, const std::string& job) {
  return token_of({job}, {std::to_string(at.attempt), std::to_string(at.step)});
}

Answer<StepCursor> step_cursor_of(const std::string& text, const std::string& job) {
  if (text.empty()) return StepCursor{};
  const auto parts = place_of_token(text, {job}, 2);
  const auto attempt = parts ? number_in<int>((*parts)[0]) : std::nullopt;
  const auto step = parts ? number_in<int>((*parts)[1]) : std::nullopt;
  if (attempt && step && *attempt >= 0 && *step >= 0) return StepCursor{*attempt, *step};
  return bad_field("cursor", "expected that of a message of StreamMetrics of this very job");
}

}  // namespace caravan::service
