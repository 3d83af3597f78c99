#include "service/logs/log_cursor.h"

#include "kube/api/timestamp.h"
#include "service/answer/token.h"

namespace caravan::service {
namespace {

constexpr std::size_t kParts = 7;
constexpr char kIsRead[] = "read";

std::vector<std::string> identity_of(const LogSource& source) {
  return {source.job, std::to_string(source.node), source.rank ? std::to_string(*source.rank) : ""};
}

std::optional<LogCursor> cursor_in(const std::vector<std::string>& parts) {
  const auto attempt = number_in<int>(parts[2]);
  if (!attempt) return std::nullopt;
  LogCursor cursor{.pod = parts[0], .uid = parts[1], .attempt = *attempt, .is_read = parts[3] == kIsRead};
  if (parts[4].empty()) return cursor;
  const auto same_time = number_in<int>(parts[5]);
  const auto bytes = number_in<std::uint64_t>(parts[6]);
  if (!same_time || !bytes || !kube::parse_timestamp(parts[4])) return std::nullopt;
  cursor.place = controller::LogPlace{.time = parts[4], .same_time = *same_time, .bytes = *bytes};
  return cursor;
}

}  // namespace

std::string text_of(const LogCursor& cursor, const LogSource& source) {
  const controller::LogPlace place = cursor.place.value_or(controller::LogPlace{});
  return token_of(identity_of(source),
                  {cursor.pod, cursor.uid, std::to_string(cursor.attempt), cursor.is_read ? kIsRead : "",
                   place.time, std::to_string(place.same_time), std::to_string(place.bytes)});
}

Answer<LogCursor> cursor_of(const std::string& text, const LogSource& source) {
  const auto parts = place_of_token(text, identity_of(source), kParts);
  auto cursor = parts ? cursor_in(*parts) : std::nullopt;
  if (cursor) return *std::move(cursor);
  return bad_field("cursor", "expected that of a message of StreamLogs, with the same name, node and rank");
}

}  // namespace caravan::service
