#include "common/schema/remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <sstream>
#include <string>
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
  std::istringstream words(location.leading_comments);
  const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
  return fmt::format("{}", fmt::join(all, " "));
}

// In the words of the error, behind what it is about.
std::string missing_feature(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  if (rules.unavailable().empty()) return "";
  std::string what = "This field";
  if (rules.has_unavailable_above()) what = fmt::format("What is above {}", rules.unavailable_above());
  if (!rules.unavailable_values().empty())
    what = fmt::format("{}", fmt::join(rules.unavailable_values(), ", "));
  return fmt::format("{}: {}.", what, unavailability(field));
}

}  // namespace

std::string comment_of(const Descriptor& type) {
  return comment_above(type);
}

std::string remarks_on(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  std::vector<std::string> remarks = {comment_above(field), missing_feature(field)};
  if (rules.cluster_only()) remarks.emplace_back("Matters on a cluster only.");
  if (rules.mutability() == Mutability::Always) remarks.emplace_back("May change at any time.");
  if (rules.mutability() == Mutability::WhileSuspended) remarks.emplace_back("May change while suspended.");
  std::erase(remarks, "");
  return fmt::format("{}", fmt::join(remarks, " "));
}

}  // namespace caravan::schema
