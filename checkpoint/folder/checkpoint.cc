#include "checkpoint/folder/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/format/block_sums.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "checkpoint/hugging_face/tokenizer_files.h"

namespace caravan::checkpoint {
namespace {

using v1alpha1::CheckpointManifest;

Result<CheckpointManifest> read_manifest_once(const Volume& volume, const std::string& path) {
  const Result<std::string> text = read_text(volume, path, kLongestManifest);
  if (!text) return tl::unexpected(text.error());
  return parse_manifest(*text).map_error([&](const Error& wrong) {
    return Error{fmt::format("{}: {}", volume.shown(path), wrong.message), wrong.code};
  });
}

Result<CheckpointManifest> read_manifest(const Volume& volume, const std::string& path) {
  Result<CheckpointManifest> manifest = read_manifest_once(volume, path);
  if (manifest) return manifest;
  const auto file = volume.open_input(path);
  if (!file) return manifest;
  (*file)->forget(0, (*file)->size());
  return read_manifest_once(volume, path);
}

}  // namespace

Checkpoint::Checkpoint(const Volume& volume, std::string folder, FilePlan plan)
    : volume_(&volume), folder_(std::move(folder)), plan_(std::move(plan)) {}

tl::unexpected<Error> Checkpoint::damaged(const std::string& name, const std::string& what) const {
  return bad_input(fmt::format("{}: {}", volume_->shown(path(name)), what));
}

std::string Checkpoint::path(const std::string& name) const {
  return folder_.empty() ? name : folder_ + "/" + name;
}

Result<Checkpoint> Checkpoint::open(const Volume& volume, int step) {
  Result<Checkpoint> opened = open_folder(volume, step_folder(step));
  if (opened && opened->state_.step != step) {
    return opened->damaged(kManifestFile,
                           fmt::format("is of step {}, the folder's name says another", opened->state_.step));
  }
  return opened;
}

Result<Checkpoint> Checkpoint::open_itself(const Volume& volume) {
  return open_folder(volume, "");
}

Result<Checkpoint> Checkpoint::open_folder(const Volume& volume, const std::string& folder) {
  const std::string path = folder.empty() ? kManifestFile : folder + "/" + kManifestFile;
  const Result<CheckpointManifest> manifest = read_manifest(volume, path);
  if (!manifest) return tl::unexpected(manifest.error());
  Checkpoint opened(volume, folder, plan_of(*manifest));
  opened.state_ = state_of(*manifest);
  opened.terms_ = terms_of(*manifest);
  opened.run_ = manifest->run();
  opened.answered_request_ = manifest->answered_request();
  opened.block_bytes_ = manifest->block_bytes();
  for (const auto& file : manifest->files())
    opened.files_[file.name()] = {.length = file.length(), .sums = parse_sums(file.blocks()).value()};
  if (Status read = opened.read_model(); !read) return tl::unexpected(read.error());
  return opened;
}

Status Checkpoint::read_model() {
  const Result<std::string> config = read_whole(kConfigFile, kLongestConfig);
  if (!config) return tl::unexpected(config.error());
  const auto model = parse_config(*config);
  if (!model) return damaged(kConfigFile, model.error().message);
  if (tensor_count(*model) != std::ssize(plan_.tensors()) || tensors_of(*model) != plan_.tensors())
    return damaged(kConfigFile, "is of another model than the tensors");
  model_ = *model;
  return {};
}

Result<const InputFile*> Checkpoint::open_file(const std::string& name) {
  const auto found = open_.find(name);
  if (found != open_.end()) return found->second.get();
  const auto wanted = files_.find(name);
  if (wanted == files_.end()) return damaged(name, "is not in the manifest");
  auto file = volume_->open_input(path(name));
  if (!file) return tl::unexpected(file.error());
  if ((*file)->size() != wanted->second.length) {
    return damaged(name, fmt::format("has {} bytes, it had {} when it was written", (*file)->size(),
                                     wanted->second.length));
  }
  return open_.emplace(name, *std::move(file)).first->second.get();
}

// Of the file, from its beginning; verified.
Status Checkpoint::read_block(const std::string& name, int64_t number, std::span<std::byte> bytes) {
  const Result<const InputFile*> file = open_file(name);
  if (!file) return tl::unexpected(file.error());
  const int64_t offset = number * block_bytes_;
  const uint32_t sum = files_.at(name).sums[static_cast<std::size_t>(number)];
  for (const bool again : {false, true}) {
    if (again) (*file)->forget(offset, std::ssize(bytes));
    if (Status read = (*file)->read(offset, bytes); !read) return read;
    if (crc32c(bytes) == sum) return {};
  }
  return damaged(name, fmt::format("bytes {} to {} are not those that were written", offset,
                                   offset + std::ssize(bytes) - 1));
}

Status Checkpoint::load_block(const std::string& name, int64_t number, Block& block) {
  if (block.file == name && block.number == number) return {};
  block.number = -1;  // until it is verified
  if (Result<const InputFile*> file = open_file(name); !file) return tl::unexpected(file.error());
  block.file = name;
  block.bytes.resize(static_cast<std::size_t>(block_length(files_.at(name).length, block_bytes_, number)));
  if (Status read = read_block(name, number, block.bytes); !read) return read;
  block.number = number;
  return {};
}

// A block of which all is asked for comes to its place at once.
Status Checkpoint::read_bytes(const std::string& name, int64_t offset, std::span<std::byte> bytes,
                              Block& block) {
  const auto whole = static_cast<std::size_t>(block_bytes_);
  while (!bytes.empty()) {
    const int64_t number = offset / block_bytes_;
    std::size_t count = whole;
    if (offset % block_bytes_ == 0 && bytes.size() >= whole) {
      if (Status read = read_block(name, number, bytes.first(whole)); !read) return read;
    } else {
      if (Status loaded = load_block(name, number, block); !loaded) return loaded;
      const auto from = std::span(block.bytes).subspan(static_cast<std::size_t>(offset % block_bytes_));
      count = std::min(from.size(), bytes.size());
      std::memcpy(bytes.data(), from.data(), count);
    }
    bytes = bytes.subspan(count);
    offset += static_cast<int64_t>(count);
  }
  return {};
}

Status Checkpoint::read(StateKind kind, std::size_t tensor, int64_t first_element,
                        std::span<std::byte> bytes) {
  const TensorPlace place = plan_.place(kind, tensor);
  return read_bytes(plan_.files()[place.file].name, place.offset + first_element * place.element_bytes, bytes,
                    blocks_[kind]);
}

Result<std::string> Checkpoint::read_whole(const std::string& name, int64_t most_bytes) {
  const Result<const InputFile*> file = open_file(name);
  if (!file) return tl::unexpected(file.error());
  if ((*file)->size() > most_bytes) return damaged(name, "is too long");
  std::string text(static_cast<std::size_t>((*file)->size()), '\0');
  Block block;
  return read_bytes(name, 0, std::as_writable_bytes(std::span(text)), block).map([&] {
    return std::move(text);
  });
}

Result<std::vector<CopiedFile>> Checkpoint::tokenizer() {
  std::vector<CopiedFile> files;
  int64_t left = kLargestTokenizer;
  for (const std::string_view known : kTokenizerFiles) {
    std::string name(known);
    if (!files_.contains(name)) continue;
    auto text = read_whole(name, left);
    if (!text) return tl::unexpected(text.error());
    left -= std::ssize(*text);
    files.push_back({.name = std::move(name), .text = *std::move(text)});
  }
  return files;
}

Status Checkpoint::verify() {
  Block block;
  for (const auto& [name, file] : files_) {
    if (Result<const InputFile*> opened = open_file(name); !opened) return tl::unexpected(opened.error());
    for (int64_t number = 0; number < std::ssize(file.sums); ++number)
      if (Status loaded = load_block(name, number, block); !loaded) return loaded;
    open_.erase(name);
  }
  for (const PlannedFile& planned : plan_.files()) {
    std::string header(planned.header.size(), '\0');
    const auto bytes = std::as_writable_bytes(std::span(header));
    if (Status read = read_bytes(planned.name, 0, bytes, block); !read) return read;
    if (header != planned.header) return damaged(planned.name, "its header is not that of its tensors");
    open_.erase(planned.name);
  }
  return {};
}

}  // namespace caravan::checkpoint
