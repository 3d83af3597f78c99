#include "checkpoint/folder/rank_writer.h"

#include <algorithm>

#include "caravan/v1alpha1/checkpoint.pb.h"
#include "common/json.h"

namespace caravan::checkpoint {
namespace {

void write_box(int rank, const Box& box, v1alpha1::CheckpointBox& out) {
  out.set_rank(rank);
  out.set_row(box.row);
  out.set_column(box.column);
  out.set_rows(box.rows);
  out.set_columns(box.columns);
}

}  // namespace

RankWriter::RankWriter(Volume& volume, const FilePlan& plan, SaveId id, int rank, int64_t block_bytes)
    : volume_(volume), plan_(plan), id_(std::move(id)), rank_(rank), block_bytes_(block_bytes) {}

Result<RankWriter::OpenFile*> RankWriter::open(std::size_t number) {
  const auto found = files_.find(number);
  if (found != files_.end()) return &found->second;
  const PlannedFile& planned = plan_.files()[number];
  auto file = volume_.open_output(id_.folder() + "/" + planned.name);
  if (!file) return tl::unexpected(file.error());
  OpenFile opened{*std::move(file), BlockShares(planned.length, block_bytes_)};
  return &files_.emplace(number, std::move(opened)).first->second;
}

Status RankWriter::write(StateKind kind, std::size_t tensor, int64_t first_element,
                         std::span<const std::byte> bytes) {
  const TensorPlace place = plan_.place(kind, tensor);
  const Result<OpenFile*> to = open(place.file);
  if (!to) return tl::unexpected(to.error());
  const int64_t offset = place.offset + first_element * place.element_bytes;
  const std::string& header = plan_.files()[place.file].header;
  // Whoever has the first element of a file writes what stands before it.
  if (offset == std::ssize(header)) {
    const auto head = std::as_bytes(std::span(header));
    if (Status written = (*to)->file->write(0, head); !written) return written;
    (*to)->shares.add(0, head);
  }
  return write_blocks(**to, offset, bytes);
}

// Block by block: what was just summed up is still in the processor's cache, and all but the first and the
// last piece begin and end with a page.
Status RankWriter::write_blocks(OpenFile& to, int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto left = static_cast<std::size_t>(block_bytes_ - offset % block_bytes_);
    const auto piece = bytes.first(std::min(left, bytes.size()));
    to.shares.add(offset, piece);
    if (Status written = to.file->write(offset, piece); !written) return written;
    bytes = bytes.subspan(piece.size());
    offset += std::ssize(piece);
  }
  return {};
}

void RankWriter::add_box(std::size_t tensor, const Box& box) {
  boxes_[tensor].push_back(box);
}

Status RankWriter::finish() {
  v1alpha1::CheckpointShare share;
  share.set_rank(rank_);
  share.set_attempt(id_.attempt);
  share.set_step(id_.step);
  for (const auto& [number, opened] : files_) {
    if (Status synced = opened.file->sync(); !synced) return synced;
    v1alpha1::CheckpointShareOfFile& file = *share.add_files();
    file.set_file(static_cast<int>(number));
    file.set_blocks(opened.shares.text());
  }
  files_.clear();
  for (const auto& [number, boxes] : boxes_) {
    v1alpha1::CheckpointShareOfTensor& tensor = *share.add_tensors();
    tensor.set_tensor(static_cast<int>(number));
    for (const Box& box : boxes) write_box(rank_, box, *tensor.add_boxes());
  }
  return write_text(volume_, id_.folder() + "/" + share_file(rank_), to_json(share) + "\n");
}

}  // namespace caravan::checkpoint
