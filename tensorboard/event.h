// What TensorBoard reads, as bytes: a file is a row of records, and a record is an event. Pure.
//
// Records are framed as TFRecord has it, with masked CRC-32C (tensorflow/core/lib/io/record_writer.h). Of
// tensorflow.Event (tensorflow/core/util/event.proto) the few fields are written that curves are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::tensorboard {

// A value of a step; what stands in the tag before a slash is the group that curves are shown in.
struct Scalar {
  std::string_view tag;  // a constant
  double value = 0;      // TensorBoard has it in fp32
  bool operator==(const Scalar&) const = default;
};

struct StepScalars {
  int64_t step = 0;
  double wall_seconds = 0;  // since 1970
  std::vector<Scalar> scalars = {};
};

// The first record of every file.
std::string opening_record(double wall_seconds);
// Before the first step of an attempt: TensorBoard forgets what it has of this step and those after it.
std::string restart_record(double wall_seconds, int64_t step);
std::string scalars_record(const StepScalars& step);

}  // namespace caravan::tensorboard
