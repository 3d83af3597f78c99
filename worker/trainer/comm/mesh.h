// Where a rank stands in the three parallel axes, and the groups it talks to. Tensor parallel is the fastest
// axis, so that its group never leaves a node; then data; pipeline is the slowest:
//   rank = (pipeline · data_size + data) · tensor_size + tensor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

struct MeshShape {
  int tensor = 1;
  int data = 1;
  int pipeline = 1;

  int size() const { return tensor * data * pipeline; }
};

struct MeshPosition {
  int tensor = 0;
  int data = 0;
  int pipeline = 0;
};

MeshPosition position_of(int rank, const MeshShape& shape);
int rank_at(const MeshPosition& position, const MeshShape& shape);

// The communicators of one rank. A group of one is present too: its operations copy or do nothing.
struct Mesh {
  MeshShape shape;
  MeshPosition position;
  std::unique_ptr<Communicator> world;
  std::unique_ptr<Communicator> tensor;
  std::unique_ptr<Communicator> data;
  std::unique_ptr<Communicator> pipeline;
  // First and last stage of the same tensor and data position, which share tied embeddings; size 1 elsewhere.
  std::unique_ptr<Communicator> embedding;
};

// A group that a rank takes part in.
struct GroupRequest {
  std::string axis;  // tensor, data, pipeline, embedding, world
  std::string name;  // unique in the world, the same on all members
  int rank = 0;      // in the group
  int size = 1;
};
using GroupFactory = std::function<std::unique_ptr<Communicator>(const GroupRequest&)>;

// Blocks until the other members of every group have come.
Mesh form_mesh(const MeshShape& shape, int rank, const GroupFactory& factory);

}  // namespace caravan::trainer
