// Which file of a checkpoint holds which tensor, at which byte: known to every rank before the first byte is
// written, from the model alone.
//
// Weights and states of the optimizer are whole tensors in safetensors files, so that any program reads them,
// and every rank writes its blocks into these files at their places. The other way, a file for each rank,
// spares the ranks a common file but leaves tensors in pieces that only this program could put together.
// Weights have the names that `transformers` loads; the others begin with what they are. Pure: the same model
// gives the same bytes of headers, whatever the layout.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/hugging_face/tensors.h"
#include "checkpoint/safetensors/element_type.h"

namespace caravan::checkpoint {

enum class StateKind : uint8_t { Weights, Master, FirstMoment, SecondMoment };

inline constexpr std::array kStateKinds = {StateKind::Weights, StateKind::Master, StateKind::FirstMoment,
                                           StateKind::SecondMoment};

struct StateTypes {
  ElementType weights = ElementType::BF16;
  ElementType states = ElementType::F32;  // of the master copy
  bool has_master = true;                 // else the weights themselves are updated
  ElementType moments = ElementType::F32;
  bool operator==(const StateTypes&) const = default;
};

inline constexpr int64_t kLargestFile = int64_t{4} << 30;

struct PlannedFile {
  std::string name;
  StateKind kind = StateKind::Weights;
  std::string header;
  int64_t length = 0;  // with the header
};

struct TensorPlace {
  std::size_t file = 0;
  int64_t offset = 0;  // of its first element, from the start of the file
  int64_t element_bytes = 0;
};

class FilePlan {
 public:
  // A file has at least one tensor, and more as long as their data are not above `largest_file`.
  FilePlan(std::vector<NamedShape> tensors, const StateTypes& types, int64_t largest_file = kLargestFile);

  const std::vector<NamedShape>& tensors() const { return tensors_; }
  const StateTypes& types() const { return types_; }
  int64_t largest_file() const { return largest_file_; }
  const std::vector<PlannedFile>& files() const { return files_; }
  bool has(StateKind kind) const { return kind != StateKind::Master || types_.has_master; }
  ElementType type_of(StateKind kind) const;

  // The number of a tensor in tensors(). Absent: throws std::out_of_range.
  std::size_t tensor(std::string_view name) const;
  TensorPlace place(StateKind kind, std::size_t tensor) const;

  // model.safetensors.index.json, also where the weights are one file: programs that read every safetensors
  // file of a folder without an index would take the optimizer's states, which have the same names, for them.
  std::string weights_index() const;

 private:
  void plan_kind(StateKind kind);

  std::vector<NamedShape> tensors_;
  StateTypes types_;
  int64_t largest_file_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<PlannedFile> files_;
  std::map<StateKind, std::vector<TensorPlace>> places_;
};

}  // namespace caravan::checkpoint
