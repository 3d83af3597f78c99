#include "common/schema/field_descriptions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.pb.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "common/file_contents.h"
#include "common/schema/field_rules.h"

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
  const std::string what = rules.has_unavailable_above()
                               ? fmt::format("What is above {}", rules.unavailable_above())
                               : "This field";
  return fmt::format("{}: {}.", what, unavailability(field));
}

}  // namespace

Status read_descriptor_set(const std::string& path, google::protobuf::DescriptorPool& pool) {
  google::protobuf::FileDescriptorSet files;
  const auto text = file_contents(path);
  if (!text) return tl::unexpected(text.error());
  if (!files.ParseFromString(*text)) return bad_input(fmt::format("{}: is not a descriptor set", path));
  for (const auto& file : files.file()) pool.BuildFile(file);
  return {};
}

std::string comment_of(const Descriptor& type) {
  return comment_above(type);
}

std::string comment_of(const google::protobuf::MethodDescriptor& method) {
  return comment_above(method);
}

std::string description_of(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  std::vector<std::string> sentences = {comment_above(field), missing_feature(field)};
  if (rules.cluster_only()) sentences.emplace_back("Matters on a cluster only.");
  if (rules.mutability() == Mutability::Always) sentences.emplace_back("May change at any time.");
  if (rules.mutability() == Mutability::WhileSuspended) sentences.emplace_back("May change while suspended.");
  std::erase(sentences, "");
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace caravan::schema
