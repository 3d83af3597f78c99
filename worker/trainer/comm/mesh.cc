#include "worker/trainer/comm/mesh.h"

#include <fmt/format.h>

#include "worker/trainer/comm/solo_communicator.h"

namespace caravan::trainer {

MeshPosition position_of(int rank, const MeshShape& shape) {
  return {.tensor = rank % shape.tensor,
          .data = rank / shape.tensor % shape.data,
          .pipeline = rank / (shape.tensor * shape.data)};
}

int rank_at(const MeshPosition& position, const MeshShape& shape) {
  return (position.pipeline * shape.data + position.data) * shape.tensor + position.tensor;
}

Mesh form_mesh(const MeshShape& shape, int rank, const GroupFactory& factory) {
  const MeshPosition at = position_of(rank, shape);
  const auto form = [&](const GroupRequest& request) -> std::unique_ptr<Communicator> {
    if (request.size == 1) return std::make_unique<SoloCommunicator>();
    return factory(request);
  };
  const auto name = [](const char* axis, int first, int second) {
    return fmt::format("{}-{}-{}", axis, first, second);
  };

  Mesh mesh{
      .shape = shape, .position = at, .world = {}, .tensor = {}, .data = {}, .pipeline = {}, .embedding = {}};
  mesh.world = form({"world", "world", rank, shape.size()});
  mesh.tensor = form({"tensor", name("tensor", at.data, at.pipeline), at.tensor, shape.tensor});
  mesh.data = form({"data", name("data", at.tensor, at.pipeline), at.data, shape.data});
  mesh.pipeline = form({"pipeline", name("pipeline", at.tensor, at.data), at.pipeline, shape.pipeline});

  const bool first = at.pipeline == 0;
  const bool last = at.pipeline == shape.pipeline - 1;
  const int ends = shape.pipeline > 1 && (first || last) ? 2 : 1;
  mesh.embedding = form({"embedding", name("embedding", at.tensor, at.data), first ? 0 : ends - 1, ends});
  return mesh;
}

}  // namespace caravan::trainer
