// The folder of one local run: plan, configuration and log of every rank; and another one for its sockets.
//
// Without a path of the user's a fresh folder under the system's temporary one, which is removed with the
// object unless it was kept. A folder of the user's is created when it is absent and never removed; it is
// locked until the object ends, since two runs in one folder would write over each other's files. Only this
// user may enter what is created here; who may enter a folder that was there before is the user's choice.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan::cli {

class WorkDirectory {
 public:
  // path: empty for a temporary folder. Errors have exit code 2 and name --work-directory.
  static Result<WorkDirectory> create(const std::string& path);

  WorkDirectory(WorkDirectory&& other) noexcept;
  WorkDirectory& operator=(WorkDirectory&&) = delete;
  ~WorkDirectory();

  const std::filesystem::path& path() const { return path_; }
  // Fresh, under the system's temporary one, for this user alone, and removed with the object.
  const std::filesystem::path& sockets() const { return sockets_; }
  // True when the folder will be there after the run.
  bool is_kept() const { return !remove_; }
  void keep() { remove_ = false; }

 private:
  WorkDirectory(std::filesystem::path path, UniqueFd lock, bool remove)
      : path_(std::move(path)), lock_(std::move(lock)), remove_(remove) {}

  std::filesystem::path path_;
  UniqueFd lock_;
  bool remove_;
  std::filesystem::path sockets_;
};

}  // namespace caravan::cli
