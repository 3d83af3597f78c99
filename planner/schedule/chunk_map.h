// On which stage each group of a model's layers stands.
//
// A group is a chunk on a stage: consecutive layers that the stage works on as one. Groups are numbered in
// the order in which activations pass them. Pure.
#pragma once

#include <cstdint>

namespace caravan::planner {

// How groups follow each other over the stages: round and round, or down and up again.
enum class ChunkOrder : uint8_t { Loop, V };

struct ChunkMap {
  int stages = 1;
  int chunks = 1;  // of a stage
  ChunkOrder order = ChunkOrder::Loop;

  constexpr int groups() const { return stages * chunks; }
  constexpr int group_of(int stage, int chunk) const { return chunk * stages + turned(stage, chunk); }
  constexpr int chunk_of(int group) const { return group / stages; }
  constexpr int stage_of(int group) const { return turned(group % stages, chunk_of(group)); }

 private:
  // From a stage to its place in the round, and back.
  constexpr int turned(int place, int chunk) const {
    const bool upwards = order == ChunkOrder::V && chunk % 2 == 1;
    return upwards ? stages - 1 - place : place;
  }
};

}  // namespace caravan::planner
