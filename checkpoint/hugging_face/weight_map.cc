#include "checkpoint/hugging_face/weight_map.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include "checkpoint/hugging_face/file_name.h"
#include "common/json.h"

namespace caravan::checkpoint {

Result<WeightMap> parse_weight_map(std::string_view json) {
  const auto object = from_json<google::protobuf::Struct>(json);
  if (!object) return bad_input("no JSON object: " + object.error().message);
  const auto map = object->fields().find("weight_map");
  if (map == object->fields().end() || !map->second.has_struct_value())
    return bad_input("weight_map: must be an object of names of tensors and files");
  WeightMap files;
  for (const auto& [tensor, file] : map->second.struct_value().fields()) {
    if (!file.has_string_value() || !is_file_name(file.string_value()))
      return bad_input(fmt::format("weight_map: '{}': must be the name of a file in this folder", tensor));
    files.emplace(tensor, file.string_value());
  }
  return files;
}

}  // namespace caravan::checkpoint
