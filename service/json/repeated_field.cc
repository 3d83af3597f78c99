#include "service/json/repeated_field.h"

#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "common/schema/message_text.h"

namespace caravan::service {
namespace {

// A handler of JSON's events that keeps the names of the objects around the place where it is.
class FieldNames {
 public:
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using ErrorCode = boost::json::error_code;
  using Text = boost::json::string_view;

  bool on_document_begin(ErrorCode&) { return true; }
  bool on_document_end(ErrorCode&) { return true; }
  bool on_array_begin(ErrorCode&) { return true; }
  bool on_array_end(std::size_t, ErrorCode&) { return true; }
  bool on_object_begin(ErrorCode&) {
    objects_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, ErrorCode&) {
    objects_.pop_back();
    return true;
  }
  bool on_string_part(Text, std::size_t, ErrorCode&) { return true; }
  bool on_string(Text, std::size_t, ErrorCode&) { return true; }
  bool on_key_part(Text part, std::size_t, ErrorCode&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(Text rest, std::size_t, ErrorCode& error) {
    key_.append(rest.data(), rest.size());
    Object& object = objects_.back();
    object.at = std::exchange(key_, {});
    if (object.names.insert(object.at).second) return true;
    is_repeated_ = true;
    error = boost::json::error::syntax;  // there is no need to read on
    return false;
  }
  bool on_number_part(Text, ErrorCode&) { return true; }
  bool on_int64(std::int64_t, Text, ErrorCode&) { return true; }
  bool on_uint64(std::uint64_t, Text, ErrorCode&) { return true; }
  bool on_double(double, Text, ErrorCode&) { return true; }
  bool on_bool(bool, ErrorCode&) { return true; }
  bool on_null(ErrorCode&) { return true; }
  bool on_comment_part(Text, ErrorCode&) { return true; }
  bool on_comment(Text, ErrorCode&) { return true; }

  std::optional<std::string> repeated() const {
    if (!is_repeated_) return std::nullopt;
    std::string path;
    for (const Object& object : objects_) path = schema::child_path(path, object.at);
    return path;
  }

 private:
  struct Object {
    std::string at;  // the field that is read
    std::set<std::string> names;
  };

  std::vector<Object> objects_;  // the outermost first
  std::string key_;              // whose end is not there yet
  bool is_repeated_ = false;
};

}  // namespace

std::optional<std::string> repeated_field(std::string_view json, std::size_t deepest) {
  boost::json::parse_options options;
  options.max_depth = deepest;
  boost::json::basic_parser<FieldNames> parser(options);
  boost::json::error_code error;
  parser.write_some(/*more=*/false, json.data(), json.size(), error);
  return parser.handler().repeated();
}

}  // namespace caravan::service
