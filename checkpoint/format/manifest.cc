#include "checkpoint/format/manifest.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <map>
#include <set>

#include "checkpoint/format/block_sums.h"
#include "checkpoint/format/box.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/file_name.h"
#include "checkpoint/safetensors/convert.h"
#include "checkpoint/safetensors/header.h"
#include "common/json.h"
#include "common/json_of_any_version.h"

namespace caravan::checkpoint {
namespace {

using v1alpha1::CheckpointFile;
using v1alpha1::CheckpointManifest;
using v1alpha1::CheckpointTensor;

constexpr int64_t kSmallestBlock = 512;
constexpr int64_t kLargestBlock = int64_t{1} << 30;
constexpr int64_t kMostElements = int64_t{1} << 58;

// Of the text of a manifest, behind its format; rest: the text without this.
std::string sum_entry(std::string_view rest) {
  return fmt::format(R"("crc32c":"{}",)", sum_text(crc32c(std::as_bytes(std::span(rest)))));
}

// Taken of the text as it is: a version with other fields would write the message in another way.
bool has_its_sum(std::string_view text) {
  if (!text.ends_with('\n')) return false;
  text.remove_suffix(1);
  const std::size_t at = text.find(R"("crc32c":)");
  if (at == std::string_view::npos) return false;
  std::string rest(text);
  rest.erase(at, sum_entry("").size());
  return text.substr(at).starts_with(sum_entry(rest));
}

Status check_progress(const CheckpointManifest& manifest) {
  const auto& progress = manifest.progress();
  const auto& training = manifest.training();
  if (progress.step() < 1) return bad_input("progress.step: must be at least 1");
  if (progress.updates() < 0 || progress.updates() > progress.step())
    return bad_input("progress.updates: must be from 0 to progress.step");
  if (progress.samples() < 0) return bad_input("progress.samples: must not be below 0");
  if (training.seed() < 0 || training.sequence_length() < 1 || training.global_batch_sequences() < 1)
    return bad_input("training: seed, sequenceLength and globalBatchSequences must be positive");
  return {};
}

Status check_file(const CheckpointFile& file, int64_t block_bytes) {
  const auto wrong = [&](std::string_view what) {
    return bad_input(fmt::format("files: '{}': {}", file.name(), what));
  };
  if (!is_file_name(file.name()) || file.name() == kManifestFile)
    return wrong("is no name of a file in this folder");
  if (file.length() < 0) return wrong("length must not be below 0");
  const auto sums = parse_sums(file.blocks());
  if (!sums) return wrong("blocks: " + sums.error().message);
  if (std::ssize(*sums) != block_count(file.length(), block_bytes))
    return wrong("blocks: there must be a sum for each block of blockBytes");
  if (sum_text(file_sum(file.length(), block_bytes, *sums)) != file.crc32c())
    return wrong("crc32c: is not what the sums of its blocks make");
  return {};
}

Status check_files(const CheckpointManifest& manifest) {
  if (manifest.block_bytes() < kSmallestBlock || manifest.block_bytes() > kLargestBlock)
    return bad_input(fmt::format("blockBytes: must be from {} to {}", kSmallestBlock, kLargestBlock));
  std::set<std::string> names;
  for (const CheckpointFile& file : manifest.files()) {
    if (!names.insert(file.name()).second)
      return bad_input(fmt::format("files: '{}' stands there twice", file.name()));
    if (Status right = check_file(file, manifest.block_bytes()); !right) return right;
  }
  return {};
}

// Moments with a type of their own came with the second one, which earlier versions do not take for damaged.
int format_for(const CheckpointManifest& manifest) {
  const auto has_own = [](const CheckpointTensor& tensor) { return !tensor.moments_type().empty(); };
  return std::ranges::any_of(manifest.tensors(), has_own) ? 2 : 1;
}

Box whole_of(const CheckpointTensor& tensor) {
  return whole_tensor({tensor.shape().data(), static_cast<std::size_t>(tensor.shape_size())});
}

Status check_boxes(const CheckpointTensor& tensor) {
  std::vector<Box> boxes;
  boxes.reserve(static_cast<std::size_t>(tensor.boxes_size()));
  for (const auto& box : tensor.boxes())
    boxes.push_back({box.row(), box.column(), box.rows(), box.columns()});
  if (cover_exactly(whole_of(tensor), boxes)) return {};
  return bad_input(fmt::format("tensors: '{}': boxes must hold each of its elements once", tensor.name()));
}

Status check_tensor(const CheckpointTensor& tensor) {
  const auto wrong = [&](std::string_view what) {
    return bad_input(fmt::format("tensors: '{}': {}", tensor.name(), what));
  };
  const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  if (shape.empty() || shape.size() > 2) return wrong("shape must have one or two sizes");
  if (!tensor_bytes(ElementType::F64, shape)) return wrong("shape is larger than any file");
  for (const std::string& name : {tensor.weights_type(), tensor.states_type(), moments_type_of(tensor)}) {
    const auto type = element_type_from_name(name);
    if (!type || !is_floating(*type))
      return wrong(fmt::format(
          "weightsType, statesType and momentsType must be F64, F32, F16 or BF16; one is '{}'", name));
  }
  return check_boxes(tensor);
}

StateTypes types_of(const CheckpointTensor& tensor) {
  return {.weights = element_type_from_name(tensor.weights_type()).value(),
          .states = element_type_from_name(tensor.states_type()).value(),
          .has_master = tensor.has_master(),
          .moments = element_type_from_name(moments_type_of(tensor)).value()};
}

Status check_tensors(const CheckpointManifest& manifest) {
  if (manifest.tensors().empty()) return bad_input("tensors: there must be some");
  if (manifest.largest_file_bytes() < 1) return bad_input("largestFileBytes: must be at least 1");
  std::set<std::string> names;
  int64_t elements = 0;
  for (const CheckpointTensor& tensor : manifest.tensors()) {
    if (!names.insert(tensor.name()).second)
      return bad_input(fmt::format("tensors: '{}' stands there twice", tensor.name()));
    if (Status right = check_tensor(tensor); !right) return right;
    if (types_of(tensor) != types_of(manifest.tensors(0)))
      return bad_input(fmt::format("tensors: '{}': all must have the same types", tensor.name()));
    const Box whole = whole_of(tensor);
    elements += whole.rows * whole.columns;
    if (elements > kMostElements) return bad_input("tensors: are larger than any file system");
  }
  return {};
}

// Of a manifest whose fields have other types than in this version; 0 where it is none.
double format_of(std::string_view text) {
  const auto object = from_json<google::protobuf::Struct>(text);
  if (!object) return 0;
  const auto format = object->fields().find("format");
  return format == object->fields().end() ? 0 : format->second.number_value();
}

// The files that this version would make of these tensors.
Status check_plan(const CheckpointManifest& manifest) {
  std::map<std::string_view, int64_t> lengths;
  for (const CheckpointFile& file : manifest.files()) lengths.emplace(file.name(), file.length());
  const FilePlan plan = plan_of(manifest);
  for (const PlannedFile& planned : plan.files()) {
    const auto length = lengths.find(planned.name);
    if (length == lengths.end()) return bad_input(fmt::format("files: '{}' is missing", planned.name));
    if (length->second != planned.length) {
      return bad_input(fmt::format("files: '{}': length is {}, its tensors take {}", planned.name,
                                   length->second, planned.length));
    }
  }
  return {};
}

}  // namespace

const std::string& moments_type_of(const CheckpointTensor& tensor) {
  return tensor.moments_type().empty() ? tensor.states_type() : tensor.moments_type();
}

std::string sum_text(uint32_t sum) {
  return fmt::format("{:08x}", sum);
}

std::string manifest_text(CheckpointManifest manifest) {
  manifest.set_format(format_for(manifest));
  manifest.clear_crc32c();
  std::string text = to_json(manifest);
  text.insert(text.find(',') + 1, sum_entry(text));
  text += '\n';
  return text;
}

Result<CheckpointManifest> parse_manifest(std::string_view text) {
  auto read = from_json_of_any_version<CheckpointManifest>(text);
  const double format = read ? read->message.format() : format_of(text);
  if (format > kNewestFormat) {
    return failure(
        fmt::format("format: is {}, this version reads up to {}; take the version of caravan that wrote it",
                    format, kNewestFormat));
  }
  if (!has_its_sum(text))
    return bad_input("crc32c: is not the sum of this manifest, which was damaged or changed");
  if (!read) return tl::unexpected(read.error());
  CheckpointManifest& manifest = read->message;
  if (format != format_for(manifest))
    return bad_input(fmt::format("format: is {}, that of its fields is {}", format, format_for(manifest)));
  for (const auto check : {check_progress, check_files, check_tensors, check_plan})
    if (Status right = check(manifest); !right) return tl::unexpected(right.error());
  return std::move(manifest);
}

Status join_boxes(CheckpointManifest& manifest) {
  for (CheckpointTensor& tensor : *manifest.mutable_tensors()) {
    if (Status right = check_boxes(tensor); !right) return right;
    const Box whole = whole_of(tensor);
    tensor.clear_boxes();
    auto& joined = *tensor.add_boxes();
    joined.set_rows(whole.rows);
    joined.set_columns(whole.columns);
  }
  return {};
}

TrainingState state_of(const CheckpointManifest& manifest) {
  const auto& progress = manifest.progress();
  return {.step = progress.step(), .updates = progress.updates(), .samples = progress.samples()};
}

TrainingTerms terms_of(const CheckpointManifest& manifest) {
  const auto& training = manifest.training();
  return {.seed = static_cast<uint64_t>(training.seed()),
          .sequence_length = training.sequence_length(),
          .global_batch_sequences = training.global_batch_sequences(),
          .steps = training.steps()};
}

FilePlan plan_of(const CheckpointManifest& manifest) {
  std::vector<NamedShape> tensors;
  tensors.reserve(static_cast<std::size_t>(manifest.tensors_size()));
  for (const CheckpointTensor& tensor : manifest.tensors())
    tensors.push_back({tensor.name(), {tensor.shape().begin(), tensor.shape().end()}});
  return FilePlan(std::move(tensors), types_of(manifest.tensors(0)), manifest.largest_file_bytes());
}

}  // namespace caravan::checkpoint
