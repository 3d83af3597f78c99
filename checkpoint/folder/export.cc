#include "checkpoint/folder/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "checkpoint/format/box.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "checkpoint/safetensors/convert.h"
#include "common/random_hex.h"

namespace caravan::checkpoint {
namespace {

constexpr int64_t kExportedAtOnce = 1 << 20;
constexpr std::string_view kUnfinishedExport = ".unfinished-";  // and random digits

class Export {
 public:
  Export(Checkpoint& from, Volume& to, const ExportRequest& request)
      : from_(from),
        to_(to),
        request_(request),
        plan_(from.plan().tensors(), {.weights = request.type, .has_master = false},
              from.plan().largest_file()),
        unfinished_(request.folder + std::string(kUnfinishedExport) + random_hex(64)) {}

  Status run() {
    Status made = begin();
    if (!made) return made;
    Status written = write_weights()
                         .and_then([&] { return write_descriptions(); })
                         .and_then([&] { return write_tokenizer(); })
                         .and_then([&] { return to_.sync_folder(unfinished_); })
                         .and_then([&] { return to_.rename(unfinished_, request_.folder); });
    // What is left of it nobody can use; should that fail too, the first error says more.
    if (!written) (void)to_.remove_folder(unfinished_);
    return written.and_then([&] { return to_.sync_folder(""); });
  }

 private:
  std::string path(const std::string& name) const { return unfinished_ + "/" + name; }

  Status begin() {
    const Result<std::vector<std::string>> names = to_.names("");
    if (!names) return tl::unexpected(names.error());
    if (std::ranges::binary_search(*names, request_.folder))
      return bad_input(fmt::format("{}: is there already; give another name", to_.shown(request_.folder)));
    if (committed_step(request_.folder) || is_unfinished(request_.folder)) {
      return bad_input(
          fmt::format("{}: only checkpoints have such a name; give another", to_.shown(request_.folder)));
    }
    return to_.make_folder(unfinished_);
  }

  Status write_weights() {
    for (std::size_t file = 0; file < plan_.files().size(); ++file) {
      if (plan_.files()[file].kind != StateKind::Weights) continue;
      if (Status written = write_file(file); !written) return written;
    }
    return {};
  }

  Status write_file(std::size_t number) {
    const PlannedFile& planned = plan_.files()[number];
    const auto file = to_.open_output(path(planned.name));
    if (!file) return tl::unexpected(file.error());
    Status written = (*file)->write(0, std::as_bytes(std::span(planned.header)));
    for (std::size_t tensor = 0; written && tensor < plan_.tensors().size(); ++tensor)
      if (plan_.place(StateKind::Weights, tensor).file == number) written = write_tensor(tensor, **file);
    return written ? (*file)->sync() : written;
  }

  Status write_tensor(std::size_t tensor, OutputFile& file) {
    const bool wide = request_.type == from_.plan().types().states;
    const StateKind kind =
        wide && from_.plan().has(StateKind::Master) ? StateKind::Master : StateKind::Weights;
    const ElementType type = from_.plan().type_of(kind);
    const TensorPlace place = plan_.place(StateKind::Weights, tensor);
    const Box box = whole_tensor(plan_.tensors()[tensor].shape);
    const int64_t elements = box.rows * box.columns;
    for (int64_t first = 0; first < elements; first += kExportedAtOnce) {
      const int64_t count = std::min(kExportedAtOnce, elements - first);
      read_.resize(static_cast<std::size_t>(count * element_bytes(type)));
      if (Status read = from_.read(kind, tensor, first, read_); !read) return read;
      converted_.resize(static_cast<std::size_t>(count * place.element_bytes));
      convert(type, read_, request_.type, converted_);
      Status written = file.write(place.offset + first * place.element_bytes, converted_);
      if (!written) return written;
    }
    return {};
  }

  Status write_descriptions() {
    planner::ModelShape model = from_.model();
    if (!request_.eos_tokens.empty()) model.eos_tokens = request_.eos_tokens;
    const std::string config = config_json(model, request_.type, from_.terms().sequence_length);
    if (Status written = write_text(to_, path(kConfigFile), config); !written) return written;
    return write_text(to_, path(kWeightsIndexFile), plan_.weights_index());
  }

  Status write_tokenizer() {
    for (const CopiedFile& file : request_.tokenizer)
      if (Status written = write_text(to_, path(file.name), file.text); !written) return written;
    return {};
  }

  Checkpoint& from_;
  Volume& to_;
  const ExportRequest& request_;
  const FilePlan plan_;
  const std::string unfinished_;
  std::vector<std::byte> read_;
  std::vector<std::byte> converted_;
};

}  // namespace

Result<std::vector<std::string>> unfinished_exports(const Volume& to, const std::string& folder) {
  const Result<std::vector<std::string>> names = to.names("");
  if (!names) return tl::unexpected(names.error());
  std::vector<std::string> unfinished;
  std::ranges::copy_if(*names, std::back_inserter(unfinished), [&](std::string_view name) {
    return name.starts_with(folder + std::string(kUnfinishedExport));
  });
  return unfinished;
}

Status export_weights(Checkpoint& from, Volume& to, const ExportRequest& request) {
  return Export(from, to, request).run();
}

}  // namespace caravan::checkpoint
