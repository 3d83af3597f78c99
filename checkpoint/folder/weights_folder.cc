#include "checkpoint/folder/weights_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "checkpoint/safetensors/convert.h"

namespace caravan::checkpoint {
namespace {

constexpr int64_t kReadAtOnce = 1 << 18;

tl::unexpected<Error> in_file(const std::string& file, const Error& error) {
  return tl::unexpected(Error{fmt::format("{}: {}", file, error.message), error.code});
}

Result<Header> read_header(const InputFile& file, int64_t& data_begin) {
  std::array<std::byte, kHeaderLengthBytes> length_bytes{};
  if (file.size() < kHeaderLengthBytes) return bad_input("too short for a safetensors file");
  if (Status read = file.read(0, length_bytes); !read) return tl::unexpected(read.error());
  const Result<int64_t> length = header_text_length(length_bytes, file.size());
  if (!length) return tl::unexpected(length.error());
  std::string text(static_cast<std::size_t>(*length), '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  if (Status read = file.read(kHeaderLengthBytes, bytes); !read) return tl::unexpected(read.error());
  data_begin = kHeaderLengthBytes + *length;
  return parse_header(text, file.size() - data_begin);
}

}  // namespace

Result<WeightsFolder> WeightsFolder::open(const std::string& path) {
  auto volume = open_volume(path, Links::Followed);
  if (!volume) return tl::unexpected(volume.error());
  WeightsFolder folder(*std::move(volume));
  if (Status opened = folder.open_files(); !opened) return folder.explained(opened.error());
  return folder;
}

Status WeightsFolder::open_files() {
  const Result<std::vector<std::string>> names = volume_->names("");
  if (!names) return tl::unexpected(names.error());
  const bool has_sums = std::ranges::binary_search(*names, kManifestFile);
  return has_sums ? open_checkpoint() : read_model().and_then([&] { return find_files(*names); });
}

// A job removes its older checkpoints, also one that somebody reads.
tl::unexpected<Error> WeightsFolder::explained(const Error& error) const {
  const std::string path = volume_->shown("");
  std::error_code trouble;
  if (std::filesystem::exists(path, trouble) || trouble) return tl::unexpected(error);
  return tl::unexpected(
      Error{path + ": was removed meanwhile; take another, such as the job's newest checkpoint", error.code});
}

Status WeightsFolder::open_checkpoint() {
  Result<Checkpoint> opened = Checkpoint::open_itself(*volume_);
  if (!opened) {
    return tl::unexpected(Error{
        opened.error().message + "; with a manifest.json the folder is read as a checkpoint, and verified",
        opened.error().code});
  }
  checkpoint_ = *std::move(opened);
  model_ = checkpoint_->model();
  for (const PlannedFile& planned : checkpoint_->plan().files()) {
    if (planned.kind != StateKind::Weights) continue;
    const int64_t data_begin = std::ssize(planned.header);
    const Result<Header> header = parse_header(std::string_view(planned.header).substr(kHeaderLengthBytes),
                                               planned.length - data_begin);
    if (!header) return in_file(volume_->shown(planned.name), header.error());
    add_file(planned.name, {.input = nullptr, .data_begin = data_begin, .tensors = {}}, *header);
    for (const TensorEntry& entry : header->tensors) places_.emplace(entry.name, planned.name);
  }
  return {};
}

Status WeightsFolder::read_model() {
  const Result<std::string> text = read_text(*volume_, kConfigFile, kLongestConfig);
  if (!text) {
    return tl::unexpected(Error{text.error().message +
                                    "; a model's folder has config.json and safetensors files, as one "
                                    "checkpoint has, such as step-000500",
                                text.error().code});
  }
  auto model = parse_config(*text);
  if (!model) return in_file(volume_->shown(kConfigFile), model.error());
  model_ = *std::move(model);
  return {};
}

// As `transformers` looks for them: one file comes first.
Status WeightsFolder::find_files(const std::vector<std::string>& names) {
  if (std::ranges::binary_search(names, kWeightsFile)) {
    const Result<const File*> file = open_file(kWeightsFile);
    if (!file) return tl::unexpected(file.error());
    for (const auto& [tensor, entry] : (*file)->tensors) places_.emplace(tensor, kWeightsFile);
    return {};
  }
  if (!std::ranges::binary_search(names, kWeightsIndexFile)) {
    return bad_input(
        fmt::format("{}: has neither {} nor {}; only safetensors are read, since other files may hold code",
                    volume_->shown(""), kWeightsFile, kWeightsIndexFile));
  }
  const Result<std::string> text = read_text(*volume_, kWeightsIndexFile, kLongestIndex);
  if (!text) return tl::unexpected(text.error());
  auto places = parse_weight_map(*text);
  if (!places) return in_file(volume_->shown(kWeightsIndexFile), places.error());
  places_ = *std::move(places);
  return {};
}

Result<const WeightsFolder::File*> WeightsFolder::open_file(const std::string& name) {
  const auto found = files_.find(name);
  if (found != files_.end()) return &found->second;
  auto input = volume_->open_input(name);
  if (!input) return tl::unexpected(input.error());
  File file{.input = *std::move(input), .tensors = {}};
  const Result<Header> header = read_header(*file.input, file.data_begin);
  if (!header) return in_file(volume_->shown(name), header.error());
  return add_file(name, std::move(file), *header);
}

const WeightsFolder::File* WeightsFolder::add_file(const std::string& name, File file, const Header& header) {
  for (const TensorEntry& entry : header.tensors) file.tensors.emplace(entry.name, entry);
  return &files_.emplace(name, std::move(file)).first->second;
}

Result<std::vector<int64_t>> WeightsFolder::eos_tokens() const {
  const Result<std::vector<std::string>> names = volume_->names("");
  if (!names) return tl::unexpected(names.error());
  if (!std::ranges::binary_search(*names, kGenerationConfigFile)) return model_.eos_tokens;
  const Result<std::string> text = read_text(*volume_, kGenerationConfigFile, kLongestConfig);
  if (!text) return tl::unexpected(text.error());
  Result<std::vector<int64_t>> tokens = parse_eos_tokens(*text);
  if (!tokens) return in_file(volume_->shown(kGenerationConfigFile), tokens.error());
  return tokens->empty() ? model_.eos_tokens : tokens;
}

Result<std::vector<CopiedFile>> WeightsFolder::tokenizer() {
  if (checkpoint_) {
    auto own = checkpoint_->tokenizer();
    if (!own || !own->empty()) return own;
  }
  return read_tokenizer(volume_->shown(""));
}

std::vector<std::string> WeightsFolder::names() const {
  std::vector<std::string> names;
  names.reserve(places_.size());
  for (const auto& [tensor, file] : places_) names.push_back(tensor);
  return names;
}

Result<WeightsFolder::Found> WeightsFolder::look_up(const std::string& tensor) {
  const auto place = places_.find(tensor);
  if (place == places_.end()) {
    return bad_input(
        fmt::format("{}: has no tensor '{}', which the model of its {} has; fetch the files again",
                    volume_->shown(""), tensor, kConfigFile));
  }
  const Result<const File*> file = open_file(place->second);
  if (!file) return tl::unexpected(file.error());
  const auto entry = (*file)->tensors.find(tensor);
  if (entry == (*file)->tensors.end()) {
    return bad_input(fmt::format("{}: has no tensor '{}', which {} says it has; fetch the files again",
                                 volume_->shown(place->second), tensor, kWeightsIndexFile));
  }
  return Found{*file, &entry->second};
}

Result<const TensorEntry*> WeightsFolder::find(const std::string& tensor) {
  return look_up(tensor).map([](const Found& found) { return found.entry; });
}

Status WeightsFolder::check(const NamedShape& wanted) {
  const Result<const TensorEntry*> entry = find(wanted.name);
  if (!entry) return tl::unexpected(entry.error());
  const auto wrong = [&](const std::string& what) {
    return bad_input(
        fmt::format("{}: tensor '{}': {}", volume_->shown(places_.at(wanted.name)), wanted.name, what));
  };
  if ((*entry)->shape != wanted.shape) {
    return wrong(fmt::format("shape is [{}], {} makes it [{}]", fmt::join((*entry)->shape, ", "), kConfigFile,
                             fmt::join(wanted.shape, ", ")));
  }
  if (!is_floating((*entry)->type)) {
    return wrong(
        fmt::format("dtype is {}; weights are read as F32, F16 or BF16, so take the model before it "
                    "was quantized",
                    element_type_name((*entry)->type)));
  }
  return {};
}

// In the type of the file.
Status WeightsFolder::read_stored(const Found& found, int64_t first_element, std::span<std::byte> bytes) {
  const auto& [file, entry] = found;
  if (checkpoint_) {
    const std::size_t tensor = checkpoint_->plan().tensor(entry->name);
    return checkpoint_->read(StateKind::Weights, tensor, first_element, bytes);
  }
  const int64_t offset = file->data_begin + entry->begin + first_element * element_bytes(entry->type);
  return file->input->read(offset, bytes);
}

Status WeightsFolder::check_all() {
  // With fewer tensors than layers one is missing among these already.
  planner::ModelShape counted = model_;
  counted.layers = std::min<int64_t>(model_.layers, std::ssize(places_));
  for (const NamedShape& tensor : tensors_of(counted))
    if (Status right = check(tensor); !right) return right;
  return {};
}

Status WeightsFolder::read(const std::string& tensor, int64_t first_element, ElementType as,
                           std::span<std::byte> bytes) {
  const Status read =
      look_up(tensor).and_then([&](const Found& found) { return read_as(found, first_element, as, bytes); });
  return read ? read : explained(read.error());
}

Status WeightsFolder::read_as(const Found& found, int64_t first_element, ElementType as,
                              std::span<std::byte> bytes) {
  const ElementType type = found.entry->type;
  int64_t left = std::ssize(bytes) / element_bytes(as);
  std::vector<std::byte> piece;
  while (left > 0) {
    const int64_t count = std::min(left, kReadAtOnce);
    const auto out = bytes.first(static_cast<std::size_t>(count * element_bytes(as)));
    if (type == as) {
      if (Status read = read_stored(found, first_element, out); !read) return read;
    } else {
      piece.resize(static_cast<std::size_t>(count * element_bytes(type)));
      if (Status read = read_stored(found, first_element, piece); !read) return read;
      convert(type, piece, as, out);
    }
    bytes = bytes.subspan(out.size());
    first_element += count;
    left -= count;
  }
  return {};
}

}  // namespace caravan::checkpoint
