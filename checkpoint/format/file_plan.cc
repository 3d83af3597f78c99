#include "checkpoint/format/file_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "checkpoint/safetensors/header.h"
#include "common/json.h"

namespace caravan::checkpoint {
namespace {

std::string_view stem_of(StateKind kind) {
  switch (kind) {
    case StateKind::Weights:
      return "model";
    case StateKind::Master:
      return "master";
    case StateKind::FirstMoment:
      return "first-moment";
    case StateKind::SecondMoment:
      return "second-moment";
  }
  return "";
}

std::string file_name(StateKind kind, std::size_t number, std::size_t count) {
  if (count == 1) return fmt::format("{}.safetensors", stem_of(kind));
  return fmt::format("{}-{:05}-of-{:05}.safetensors", stem_of(kind), number, count);
}

int64_t bytes_of(const NamedShape& tensor, ElementType type) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), element_bytes(type), std::multiplies<>());
}

}  // namespace

FilePlan::FilePlan(std::vector<NamedShape> tensors, const StateTypes& types, int64_t largest_file)
    : tensors_(std::move(tensors)), types_(types), largest_file_(largest_file) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) numbers_.emplace(tensors_[i].name, i);
  for (const StateKind kind : kStateKinds)
    if (has(kind)) plan_kind(kind);
}

ElementType FilePlan::type_of(StateKind kind) const {
  if (kind == StateKind::Weights) return types_.weights;
  return kind == StateKind::Master ? types_.states : types_.moments;
}

void FilePlan::plan_kind(StateKind kind) {
  const ElementType type = type_of(kind);
  std::vector<Header> headers;
  std::vector<TensorPlace>& places = places_[kind];
  for (const NamedShape& tensor : tensors_) {
    const int64_t bytes = bytes_of(tensor, type);
    int64_t end = headers.empty() ? 0 : headers.back().tensors.back().end;
    if (headers.empty() || end + bytes > largest_file_) {
      headers.push_back({.tensors = {}, .metadata = {{"format", "pt"}}});
      end = 0;
    }
    headers.back().tensors.push_back(
        {.name = tensor.name, .type = type, .shape = tensor.shape, .begin = end, .end = end + bytes});
    places.push_back(
        {.file = files_.size() + headers.size() - 1, .offset = end, .element_bytes = element_bytes(type)});
  }
  for (std::size_t i = 0; i < headers.size(); ++i) {
    std::string header = header_bytes(headers[i]);
    const int64_t length = std::ssize(header) + headers[i].tensors.back().end;
    files_.push_back({.name = file_name(kind, i + 1, headers.size()),
                      .kind = kind,
                      .header = std::move(header),
                      .length = length});
  }
  for (TensorPlace& place : places) place.offset += std::ssize(files_[place.file].header);
}

std::size_t FilePlan::tensor(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) throw std::out_of_range(fmt::format("the model has no tensor {}", name));
  return found->second;
}

TensorPlace FilePlan::place(StateKind kind, std::size_t tensor) const {
  return places_.at(kind).at(tensor);
}

std::string FilePlan::weights_index() const {
  const std::vector<TensorPlace>& places = places_.at(StateKind::Weights);
  int64_t bytes = 0;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    bytes += bytes_of(tensors_[i], types_.weights);
    lines.push_back(
        fmt::format("    {}: {}", json_string(tensors_[i].name), json_string(files_[places[i].file].name)));
  }
  return fmt::format("{{\n  \"metadata\": {{\"total_size\": {}}},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
                     bytes, fmt::join(lines, ",\n"));
}

}  // namespace caravan::checkpoint
