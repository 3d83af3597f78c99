#include "common/schema/crd/custom_resource.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/options.pb.h"
#include "common/schema/crd/yaml_writer.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using v1alpha1::PrinterColumn;
using v1alpha1::Resource;

std::vector<std::string> strings(const google::protobuf::RepeatedPtrField<std::string>& values) {
  return {values.begin(), values.end()};
}

Node names_of(const Descriptor& object, const Resource& resource) {
  std::string singular = object.name();
  std::transform(singular.begin(), singular.end(), singular.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return map("names", {text("kind", object.name()), text("listKind", object.name() + "List"),
                       text("plural", resource.plural()), text("singular", singular),
                       text_list("shortNames", strings(resource.short_names())),
                       text_list("categories", strings(resource.categories()))});
}

Node column(const PrinterColumn& column) {
  std::vector<Node> entries = {text("name", column.name()), text("type", column.type()),
                               text("jsonPath", column.json_path())};
  if (!column.description().empty()) entries.push_back(text("description", column.description()));
  if (column.priority() > 0) entries.push_back(literal("priority", fmt::format("{}", column.priority())));
  return map("", std::move(entries));
}

Node version(const Resource& resource, Node schema) {
  std::vector<Node> columns;
  for (const PrinterColumn& shown : resource.columns()) columns.push_back(column(shown));
  return map("", {text("name", resource.version()), literal("served", "true"), literal("storage", "true"),
                  list("additionalPrinterColumns", std::move(columns)),
                  map("subresources", {map("status", {})}), map("schema", {std::move(schema)})});
}

}  // namespace

Result<std::string> custom_resource_definition(const Descriptor& object) {
  const Resource& resource = object.options().GetExtension(v1alpha1::resource);
  auto schema = structural_schema(object);
  if (!schema) return tl::unexpected(schema.error());
  return write_yaml(map(
      "",
      {text("apiVersion", "apiextensions.k8s.io/v1"), text("kind", "CustomResourceDefinition"),
       map("metadata", {text("name", fmt::format("{}.{}", resource.plural(), resource.group()))}),
       map("spec", {text("group", resource.group()), text("scope", "Namespaced"), names_of(object, resource),
                    list("versions", {version(resource, *std::move(schema))})})}));
}

}  // namespace caravan::schema
