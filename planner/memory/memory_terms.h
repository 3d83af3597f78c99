// Bytes of one rank by what they are used for: as predicted of it, and as its trainer counts them.
//
// The terms and their names are those of the schema's MemoryTerms. Nothing here is protobuf (for that see
// terms_message.h), so that the trainer's LibTorch files may use it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace caravan::planner {

struct MemoryTerms {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t logits = 0;
  int64_t workspace = 0;
  int64_t communication = 0;
  int64_t overhead = 0;  // of a device, beside tensors: its context, libraries, and holes between tensors
  int64_t snapshot = 0;
  bool operator==(const MemoryTerms&) const = default;

  int64_t of_tensors() const {
    return parameters + gradients + optimizer + activations + logits + workspace + communication + snapshot;
  }
  int64_t total() const { return of_tensors() + overhead; }
};

struct MemoryTerm {
  std::string_view name;
  int64_t MemoryTerms::*bytes;
};

// In the order of the struct.
inline constexpr std::array<MemoryTerm, 9> kMemoryTerms{{
    {"parameters", &MemoryTerms::parameters},
    {"gradients", &MemoryTerms::gradients},
    {"optimizer", &MemoryTerms::optimizer},
    {"activations", &MemoryTerms::activations},
    {"logits", &MemoryTerms::logits},
    {"workspace", &MemoryTerms::workspace},
    {"communication", &MemoryTerms::communication},
    {"overhead", &MemoryTerms::overhead},
    {"snapshot", &MemoryTerms::snapshot},
}};

}  // namespace caravan::planner
