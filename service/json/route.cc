#include "service/json/route.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/api/annotations.pb.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "common/schema/message_text.h"

namespace caravan::service {
namespace {

using google::api::HttpRule;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  for (std::size_t begin = 1; begin <= path.size();) {  // behind the first slash
    const std::size_t end = std::min(path.find('/', begin), path.size());
    segments.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

// From the colon of the last segment on, which loses it.
std::string take_ending(std::vector<std::string>& segments) {
  std::string& last = segments.back();
  const std::size_t colon = last.find(':');
  if (colon == std::string::npos) return {};
  std::string ending = last.substr(colon);
  last.erase(colon);
  return ending;
}

std::pair<std::string, std::string> verb_and_path(const HttpRule& rule) {
  switch (rule.pattern_case()) {
    case HttpRule::kGet:
      return {"GET", rule.get()};
    case HttpRule::kPut:
      return {"PUT", rule.put()};
    case HttpRule::kPost:
      return {"POST", rule.post()};
    case HttpRule::kDelete:
      return {"DELETE", rule.delete_()};
    case HttpRule::kPatch:
      return {"PATCH", rule.patch()};
    case HttpRule::PATTERN_NOT_SET:
      break;
  }
  return {};
}

Route route_of(const MethodDescriptor& method, const HttpRule& rule) {
  Route route{.method = &method, .body = rule.body()};
  std::string path;
  std::tie(route.verb, path) = verb_and_path(rule);
  const std::size_t open = path.find('{');
  const std::size_t is = path.find('=', open);
  const std::size_t close = path.find('}', is);
  assert(open != std::string::npos && is != std::string::npos && close != std::string::npos);
  const std::string before = path.substr(0, open);
  const std::string pattern = path.substr(is + 1, close - is - 1);
  route.field = method.input_type()->FindFieldByName(path.substr(open + 1, is - open - 1));
  assert(route.field != nullptr && route.field->type() == FieldDescriptor::TYPE_STRING);
  route.segments = segments_of(before + pattern + path.substr(close + 1));
  route.ending = take_ending(route.segments);
  route.first = static_cast<std::size_t>(std::ranges::count(before, '/')) - 1;
  route.end = route.first + static_cast<std::size_t>(std::ranges::count(pattern, '/')) + 1;
  return route;
}

Answer<void> check(std::string_view path) {
  const auto refused = [&](const char* why) {
    return fault(Code::kInvalidArgument, faults::kBadRequest,
                 fmt::format("the path {} {}", schema::in_quotes(path), why));
  };
  if (!path.starts_with('/')) return refused("does not begin with a slash");
  const bool is_plain = std::ranges::all_of(path, [](char c) { return c > ' ' && c < 0x7f && c != '%'; });
  if (!is_plain) return refused("has escapes or other characters than those of names");
  for (const std::string& segment : segments_of(path)) {
    if (segment.empty()) return refused("has an empty segment");
    if (segment == "." || segment == "..") return refused("has a segment of dots alone");
  }
  return {};
}

std::optional<Match> match(const Route& route, const std::vector<std::string>& segments,
                           const std::string& ending) {
  if (ending != route.ending || segments.size() != route.segments.size()) return std::nullopt;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool fits = route.segments[i] == "*" ? segments[i].find(':') == std::string::npos
                                               : route.segments[i] == segments[i];
    if (!fits) return std::nullopt;
  }
  return Match{&route,
               fmt::format("{}", fmt::join(segments.begin() + static_cast<std::ptrdiff_t>(route.first),
                                           segments.begin() + static_cast<std::ptrdiff_t>(route.end), "/"))};
}

}  // namespace

std::vector<const FieldDescriptor*> parameters_of(const Route& route) {
  std::vector<const FieldDescriptor*> fields;
  if (route.body == "*") return fields;
  const google::protobuf::Descriptor& type = *route.method->input_type();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const bool is_elsewhere = field == route.field || field->name() == route.body;
    if (!is_elsewhere && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) fields.push_back(field);
  }
  return fields;
}

Routes::Routes(const google::protobuf::ServiceDescriptor& service) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    if (!method.options().HasExtension(google::api::http)) continue;
    routes_.push_back(route_of(method, method.options().GetExtension(google::api::http)));
  }
}

std::vector<Match> Routes::matches_of(std::string_view path) const {
  std::vector<std::string> segments = segments_of(path);
  if (segments.empty()) return {};
  const std::string ending = take_ending(segments);
  std::vector<Match> matches;
  for (const Route& route : routes_) {
    if (auto found = match(route, segments, ending)) matches.push_back(*std::move(found));
  }
  return matches;
}

std::vector<std::string> Routes::verbs_of(std::string_view path) const {
  std::vector<std::string> verbs;
  for (const Match& found : matches_of(path)) verbs.push_back(found.route->verb);
  return verbs;
}

Answer<Match> Routes::find(std::string_view verb, std::string_view path) const {
  if (auto plain = check(path); !plain) return tl::unexpected(std::move(plain.error()));
  std::vector<std::string> verbs;
  for (Match& found : matches_of(path)) {
    if (found.route->verb == verb) return std::move(found);
    verbs.push_back(found.route->verb);
  }
  if (!verbs.empty())
    return fault(Code::kUnimplemented, faults::kNoMethod,
                 fmt::format("{} takes {}, not {}", schema::in_quotes(path), fmt::join(verbs, " and "),
                             schema::in_quotes(verb)));
  return fault(Code::kNotFound, faults::kNoMethod,
               fmt::format("there is no method at {}; /openapi.json has those that there are",
                           schema::in_quotes(path)));
}

}  // namespace caravan::service
