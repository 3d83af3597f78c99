// Where the ranks of a job stand along the axes of parallelism, and who its groups' neighbours are.
//
// Axes stand from the fastest to the slowest: ranks that are neighbours along the first have consecutive
// numbers, so its groups stay within a node. A rank's number is its position read as a number whose digits
// are the places along the axes. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace caravan::planner {

enum class Axis : uint8_t { Tensor, Data, Pipeline };

inline constexpr std::array kAxes = {Axis::Tensor, Axis::Data, Axis::Pipeline};

constexpr std::string_view axis_name(Axis axis) {
  constexpr std::array<std::string_view, kAxes.size()> kNames = {"tensor", "data", "pipeline"};
  return kNames[static_cast<std::size_t>(axis)];
}

// The member of that axis, of anything that has one for each.
template <typename PerAxis>
constexpr auto& along(PerAxis& values, Axis axis) {
  switch (axis) {
    case Axis::Tensor:
      return values.tensor;
    case Axis::Data:
      return values.data;
    case Axis::Pipeline:
      break;
  }
  return values.pipeline;
}

// Ranks along each axis.
struct MeshShape {
  int tensor = 1;
  int data = 1;
  int pipeline = 1;
  bool operator==(const MeshShape&) const = default;

  constexpr int64_t ranks() const {
    int64_t product = 1;
    for (const Axis axis : kAxes) product *= along(*this, axis);
    return product;
  }
  // From a rank to its neighbour along that axis.
  constexpr int stride(Axis of) const {
    int stride = 1;
    for (const Axis axis : kAxes) {
      if (axis == of) break;
      stride *= along(*this, axis);
    }
    return stride;
  }
};

struct MeshPosition {
  int tensor = 0;
  int data = 0;
  int pipeline = 0;
  bool operator==(const MeshPosition&) const = default;
};

constexpr MeshPosition position_of(int rank, const MeshShape& shape) {
  MeshPosition position;
  for (const Axis axis : kAxes) along(position, axis) = rank / shape.stride(axis) % along(shape, axis);
  return position;
}

constexpr int rank_at(const MeshPosition& position, const MeshShape& shape) {
  int rank = 0;
  for (const Axis axis : kAxes) rank += along(position, axis) * shape.stride(axis);
  return rank;
}

}  // namespace caravan::planner
