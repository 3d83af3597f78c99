#include "common/json_of_any_version.h"

#include <google/protobuf/util/json_util.h>

namespace caravan {

Result<std::string> parse_json_of_any_version(std::string_view text, google::protobuf::Message& message) {
  const Status strict = parse_json(text, message);
  if (strict) return "";
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  message.Clear();
  const auto read = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message, lenient);
  if (!read.ok()) return tl::unexpected(strict.error());
  return strict.error().message;
}

}  // namespace caravan
