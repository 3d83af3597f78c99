#include "worker/trainer/comm/mesh.h"

#include <fmt/format.h>

#include "worker/trainer/comm/axis_by_axis.h"
#include "worker/trainer/comm/solo_communicator.h"

namespace caravan::trainer {
namespace {

using planner::Axis;
using planner::MeshPosition;
using planner::MeshShape;

// The same for the ranks that differ along that axis alone.
std::string group_name(std::string_view name, const MeshPosition& at, Axis along_axis) {
  std::string text(name);
  for (const Axis axis : planner::kAxes) {
    if (axis != along_axis) text += fmt::format("-{}", along(at, axis));
  }
  return text;
}

GroupRequest group_along(Axis axis, const MeshShape& shape, const MeshPosition& at) {
  return {.axis = std::string(axis_name(axis)),
          .name = group_name(axis_name(axis), at, axis),
          .rank = along(at, axis),
          .size = along(shape, axis)};
}

GroupRequest embedding_group(const TableStages& tables, const MeshPosition& at) {
  const bool has_head = at.pipeline == tables.head;
  const bool has_table = has_head || at.pipeline == tables.embedding;
  const bool shares = tables.tied && tables.embedding != tables.head && has_table;
  return {.axis = "embedding",
          .name = group_name("embedding", at, Axis::Pipeline),
          .rank = shares && has_head ? 1 : 0,
          .size = shares ? 2 : 1};
}

}  // namespace

Mesh form_mesh(const MeshShape& shape, const TableStages& tables, int rank, const GroupFactory& factory) {
  const auto form = [&](const GroupRequest& request) -> std::unique_ptr<Communicator> {
    if (request.size == 1) return std::make_unique<SoloCommunicator>();
    return factory(request);
  };
  Mesh mesh{.shape = shape,
            .position = position_of(rank, shape),
            .world = {},
            .tensor = {},
            .data = {},
            .pipeline = {},
            .embedding = {}};
  for (const Axis axis : planner::kAxes) along(mesh, axis) = form(group_along(axis, shape, mesh.position));
  mesh.embedding = form(embedding_group(tables, mesh.position));
  mesh.world = std::make_unique<AxisByAxis>(shape, mesh.position,
                                            AxisGroups{*mesh.tensor, *mesh.data, *mesh.pipeline});
  return mesh;
}

}  // namespace caravan::trainer
