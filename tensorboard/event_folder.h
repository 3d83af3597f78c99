// A folder whose event files TensorBoard shows as one curve: that of a job with all its attempts, also of
// runs that go on from the checkpoints of earlier ones.
//
// Every attempt of every run has a file of its own, none continued by another process, and what a crash cuts
// off stays the end of a file. TensorBoard reads files in the order of their names, and a file counts from
// its first step on. Beneath the folder no link is followed. After an error the next step is written in the
// place of the one that failed, so that a file stays whole, or in a new file where that one is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/folder/volume.h"
#include "tensorboard/event.h"

namespace caravan::tensorboard {

struct EventPlace {
  std::string path;         // made where it is absent
  std::string folder = {};  // in it, of one level; empty: path itself
  bool operator==(const EventPlace&) const = default;
};

// Behind all files that are there, whatever this machine's clock says.
std::string next_event_file(const std::vector<std::string>& names, double wall_seconds, int attempt,
                            std::string_view run);

class EventFolder {
 public:
  using OpenVolume = std::function<Result<std::unique_ptr<checkpoint::Volume>>(const std::string& path)>;

  // run: as in RankConfig.job_uid.
  EventFolder(EventPlace place, std::string run, OpenVolume open = checkpoint::make_volume)
      : place_(std::move(place)), run_(std::move(run)), open_(std::move(open)) {}

  // What is written can be read at once, and is on the disk half a minute later.
  Status add(int attempt, const StepScalars& step);

 private:
  Status write(int attempt, const StepScalars& step);
  Status open_file(int attempt, double wall_seconds);
  Status check_file() const;
  Status choose_file(int attempt, double wall_seconds);
  Result<std::vector<std::string>> names_in_folder();

  const EventPlace place_;
  const std::string run_;
  const OpenVolume open_;
  std::unique_ptr<checkpoint::Volume> volume_;
  std::unique_ptr<checkpoint::OutputFile> file_;
  std::string path_;     // of the file, in the volume
  int attempt_ = 0;      // that the file is of
  int64_t written_ = 0;  // bytes
  double synced_at_ = 0;
};

}  // namespace caravan::tensorboard
