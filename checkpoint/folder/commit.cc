#include "checkpoint/folder/commit.h"

#include <fmt/format.h>

#include <algorithm>

#include "caravan/v1alpha1/checkpoint.pb.h"
#include "checkpoint/folder/owner.h"
#include "checkpoint/folder/store.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "common/json.h"
#include "common/readable_bytes.h"
#include "planner/report.h"

namespace caravan::checkpoint {
namespace {

using v1alpha1::CheckpointManifest;
using v1alpha1::CheckpointShare;

class Commit {
 public:
  Commit(Volume& volume, const FilePlan& plan, const SaveRequest& request, int64_t block_bytes)
      : volume_(volume),
        plan_(plan),
        request_(request),
        block_bytes_(block_bytes),
        folder_(request.id().folder()) {
    for (const PlannedFile& file : plan.files()) shares_.emplace_back(file.length, block_bytes);
    describe();
  }

  Status run() {
    return join_shares()
        .and_then([&] { return add_files(); })
        .and_then([&] { return add_descriptions(); })
        .and_then([&] { return remove_shares(); })
        .and_then([&] { return write_manifest(); })
        .and_then([&] { return publish(); });
  }

 private:
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  int ranks() const { return static_cast<int>(request_.layout.mesh.ranks()); }

  void describe() {
    manifest_.set_job_name(request_.owner.job);
    manifest_.set_attempt(request_.owner.attempt);
    manifest_.set_run(request_.owner.run);
    planner::write_layout(request_.layout, *manifest_.mutable_layout());
    auto& progress = *manifest_.mutable_progress();
    progress.set_step(request_.state.step);
    progress.set_updates(request_.state.updates);
    progress.set_samples(request_.state.samples);
    auto& training = *manifest_.mutable_training();
    training.set_seed(static_cast<int>(request_.terms.seed));
    training.set_sequence_length(static_cast<int>(request_.terms.sequence_length));
    training.set_global_batch_sequences(static_cast<int>(request_.terms.global_batch_sequences));
    training.set_steps(request_.terms.steps);
    manifest_.set_answered_request(request_.answered_request);
    manifest_.set_block_bytes(block_bytes_);
    manifest_.set_largest_file_bytes(plan_.largest_file());
    for (const NamedShape& shape : plan_.tensors()) {
      auto& tensor = *manifest_.add_tensors();
      tensor.set_name(shape.name);
      tensor.mutable_shape()->Assign(shape.shape.begin(), shape.shape.end());
      tensor.set_weights_type(std::string(element_type_name(plan_.types().weights)));
      tensor.set_states_type(std::string(element_type_name(plan_.types().states)));
      tensor.set_has_master(plan_.types().has_master);
      if (plan_.types().moments != plan_.types().states)
        tensor.set_moments_type(std::string(element_type_name(plan_.types().moments)));
    }
  }

  Status join_shares() {
    for (int rank = 0; rank < ranks(); ++rank) {
      const std::string name = path(share_file(rank));
      const Result<std::string> text = read_text(volume_, name, kLongestManifest);
      if (!text) return tl::unexpected(text.error());
      const Result<CheckpointShare> share = from_json<CheckpointShare>(*text);
      if (!share || !join(rank, *share))
        return failure(fmt::format("{}: is not what rank {} of attempt {} wrote for step {}",
                                   volume_.shown(name), rank, request_.owner.attempt, request_.state.step));
    }
    return {};
  }

  bool join(int rank, const CheckpointShare& share) {
    if (share.rank() != rank || share.attempt() != request_.owner.attempt ||
        share.step() != request_.state.step)
      return false;
    for (const auto& file : share.files()) {
      if (file.file() < 0 || file.file() >= std::ssize(shares_)) return false;
      if (!shares_[static_cast<std::size_t>(file.file())].join(file.blocks())) return false;
    }
    for (const auto& tensor : share.tensors()) {
      if (tensor.tensor() < 0 || tensor.tensor() >= manifest_.tensors_size()) return false;
      manifest_.mutable_tensors(tensor.tensor())->mutable_boxes()->MergeFrom(tensor.boxes());
    }
    return true;
  }

  Status add_files() {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const PlannedFile& planned = plan_.files()[i];
      const auto file = volume_.open_input(path(planned.name));
      if (!file) return tl::unexpected(file.error());
      if ((*file)->size() != planned.length) {
        return failure(fmt::format("{}: has {} bytes, it should have {}", volume_.shown(path(planned.name)),
                                   (*file)->size(), planned.length));
      }
      add_file(planned.name, planned.length, shares_[i].sums());
    }
    return {};
  }

  void add_file(const std::string& name, int64_t length, const std::vector<uint32_t>& sums) {
    auto& file = *manifest_.add_files();
    file.set_name(name);
    file.set_length(length);
    file.set_crc32c(sum_text(file_sum(length, block_bytes_, sums)));
    file.set_blocks(sums_text(sums));
  }

  Status add_text(const std::string& name, const std::string& text) {
    BlockShares shares(std::ssize(text), block_bytes_);
    shares.add(0, std::as_bytes(std::span(text)));
    add_file(name, std::ssize(text), shares.sums());
    return write_text(volume_, path(name), text);
  }

  // What makes other programs read the folder.
  Status add_descriptions() {
    const std::string config =
        config_json(request_.model, plan_.types().weights, request_.terms.sequence_length);
    if (Status added = add_text(kConfigFile, config); !added) return added;
    for (const CopiedFile& file : request_.tokenizer)
      if (Status added = add_text(file.name, file.text); !added) return added;
    return add_text(kWeightsIndexFile, plan_.weights_index());
  }

  Status remove_shares() {
    for (int rank = 0; rank < ranks(); ++rank)
      if (Status removed = volume_.remove_file(path(share_file(rank))); !removed) return removed;
    return {};
  }

  // Read back as whoever resumes will read it: what he would refuse is never committed.
  Status write_manifest() {
    const Status right = join_boxes(manifest_).and_then([&] {
      text_ = manifest_text(manifest_);
      return parse_manifest(text_).map([](const auto&) {});
    });
    if (!right)
      return failure(fmt::format("{}: {}", volume_.shown(path(kManifestFile)), right.error().message));
    if (std::ssize(text_) > kLongestManifest)
      return failure(fmt::format("{}: takes {} and nobody reads more than {}",
                                 volume_.shown(path(kManifestFile)), readable_bytes(std::ssize(text_)),
                                 readable_bytes(kLongestManifest)));
    return write_text(volume_, path(kManifestFile), text_);
  }

  // A server that did it and whose answer was lost is asked again, and finds no folder to rename, or the name
  // taken (NFS): what counts is whose manifest has the name.
  Status rename_to(const std::string& name) {
    Status renamed = volume_.rename(folder_, name);
    if (renamed) return renamed;
    const Result<std::string> there = read_text(volume_, name + "/" + kManifestFile, kLongestManifest);
    return there && *there == text_ ? Status{} : renamed;
  }

  // What cannot be made durable loses its name again, so that it may be tried anew.
  Status publish() {
    const std::string name = step_folder(request_.state.step);
    Status named = volume_.sync_folder(folder_)
                       .and_then([&] { return check_owner(volume_, request_.owner); })
                       .and_then([&] { return rename_to(name); });
    if (!named) return named;
    Status durable = volume_.sync_folder("");
    if (!durable) (void)volume_.rename(name, folder_);
    return durable;
  }

  Volume& volume_;
  const FilePlan& plan_;
  const SaveRequest& request_;
  const int64_t block_bytes_;
  const std::string folder_;
  std::vector<BlockShares> shares_;  // by file
  CheckpointManifest manifest_;
  std::string text_;  // of the manifest
};

// A server that did it and whose answer was lost is asked again, and finds the name taken (NFS). It has the
// run and the attempt in it, and what stands there has no files yet.
Status make_own_folder(Volume& volume, const std::string& name) {
  const Status made = volume.make_folder(name);
  if (made) return made;
  const Result<std::vector<std::string>> files = volume.names(name);
  return files && files->empty() ? Status{} : made;
}

// As long as it will be, so that no rank's machine takes what others write for what lies beyond its end. No
// byte is written: a machine that had the last page would have zeros where others write (NFS). Nothing is
// reserved either: what a disk has no room for, the rank that writes it is refused.
Status make_file(Volume& volume, const std::string& path, int64_t length) {
  const auto file = volume.open_output(path);
  if (!file) return tl::unexpected(file.error());
  return (*file)->resize(length).and_then([&] { return (*file)->sync(); });
}

}  // namespace

Status begin_save(Volume& volume, const FilePlan& plan, const SaveId& id) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  const std::string unfinished = id.folder();
  if (std::ranges::find(*names, step_folder(id.step)) != names->end())
    return failure(fmt::format("{}: is there already, and stays", volume.shown(step_folder(id.step))));
  if (std::ranges::find(*names, unfinished) != names->end())
    if (Status removed = volume.remove_folder(unfinished); !removed) return removed;
  if (Status made = make_own_folder(volume, unfinished); !made) return made;
  for (const PlannedFile& file : plan.files())
    if (Status made = make_file(volume, unfinished + "/" + file.name, file.length); !made) return made;
  return {};
}

Status commit(Volume& volume, const FilePlan& plan, const SaveRequest& request, int64_t block_bytes) {
  return Commit(volume, plan, request, block_bytes).run();
}

Status abandon_save(Volume& volume, const SaveId& id) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  const std::string unfinished = id.folder();
  if (std::ranges::find(*names, unfinished) == names->end()) return {};
  return remove_unfinished_folder(volume, unfinished);
}

}  // namespace caravan::checkpoint
