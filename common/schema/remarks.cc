#include "common/schema/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/schema/values.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using v1alpha1::FieldRules;
using v1alpha1::Mutability;

template <typename D>
std::string comment_above(const D& descriptor) {
  google::protobuf::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  std::string text = location.leading_comments;
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.starts_with(' ')) text.erase(0, 1);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string missing_feature(const FieldRules& rules) {
  if (rules.unavailable().empty()) return "";
  if (rules.has_unavailable_above()) {
    return fmt::format("Above {} not available yet ({}).", rules.unavailable_above(), rules.unavailable());
  }
  if (rules.unavailable_values().empty()) return fmt::format("Not available yet ({}).", rules.unavailable());
  return fmt::format("Not available yet: {}.", fmt::join(rules.unavailable_values(), ", "));
}

}  // namespace

std::string comment_of(const Descriptor& type) {
  return comment_above(type);
}

std::string remarks_on(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  std::vector<std::string> remarks = {comment_above(field), missing_feature(rules)};
  if (rules.cluster_only()) remarks.emplace_back("Matters on a cluster only.");
  if (rules.mutability() == Mutability::Always) remarks.emplace_back("May change at any time.");
  if (rules.mutability() == Mutability::WhileSuspended) remarks.emplace_back("May change while suspended.");
  std::erase(remarks, "");
  return fmt::format("{}", fmt::join(remarks, " "));
}

}  // namespace caravan::schema
