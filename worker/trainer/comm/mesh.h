// The groups that a rank talks to: one along each axis of its job's mesh (planner/mesh.h), and all ranks by
// way of those.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "planner/mesh.h"
#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// The communicators of one rank. A group of one is present too: its operations copy or do nothing.
struct Mesh {
  planner::MeshShape shape;
  planner::MeshPosition position;
  std::unique_ptr<Communicator> world;  // axis_by_axis.h
  std::unique_ptr<Communicator> tensor;
  std::unique_ptr<Communicator> data;
  std::unique_ptr<Communicator> pipeline;
  // Of tied embeddings: the stages with the embedding and with the head at the same other places, which share
  // the table; size 1 elsewhere.
  std::unique_ptr<Communicator> embedding;
};

// A group that a rank takes part in.
struct GroupRequest {
  std::string axis;  // the axis' name, or embedding
  std::string name;  // unique in the job, the same on all members
  int rank = 0;      // in the group
  int size = 1;
};
using GroupFactory = std::function<std::unique_ptr<Communicator>(const GroupRequest&)>;

// Stages that hold a table of the vocabulary.
struct TableStages {
  int embedding = 0;
  int head = 0;
  bool tied = false;  // both hold the same one
};

// Blocks until the other members of every group have come.
Mesh form_mesh(const planner::MeshShape& shape, const TableStages& tables, int rank,
               const GroupFactory& factory);

}  // namespace caravan::trainer
