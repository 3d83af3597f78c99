#include "cli/run/output_folders.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoRegularFile = "what is there is no regular file";
constexpr const char* kWorkDirectory = "--work-directory";

// As the option named it.
struct GivenFolder {
  const char* option;
  const std::string& name;

  tl::unexpected<Error> unusable(const std::string& why) const {
    return bad_input(
        fmt::format("{}: cannot write into '{}': {}; give a folder of yours", option, name, why));
  }

  Result<fs::path> make(std::optional<fs::perms> permissions = std::nullopt) const {
    std::error_code error;
    fs::path folder = fs::absolute(name, error).lexically_normal();
    const bool made = !error && fs::create_directories(folder, error);
    if (made && permissions) fs::permissions(folder, *permissions, error);
    if (error) return unusable(error.message());
    return folder;
  }

  Status try_file(const fs::path& file) const {
    std::error_code error;
    if (fs::is_character_file(file, error)) return unusable(kNoRegularFile);
    if (const auto why = why_unwritable(file)) return unusable(*why);
    return {};
  }

  Status remove(const fs::path& file) const {
    std::error_code error;
    fs::remove(file, error);
    if (error) return unusable(error.message());
    return {};
  }
};

}  // namespace

std::optional<std::string> why_unwritable(const fs::path& file) {
  std::error_code error;
  const bool is_there = fs::exists(fs::symlink_status(file, error));
  const bool takes_bytes = fs::is_regular_file(file, error) || fs::is_character_file(file, error);
  if (is_there && !takes_bytes) return kNoRegularFile;
  errno = 0;
  if (!std::ofstream(file, std::ios::app)) return std::strerror(errno);
  if (!is_there) fs::remove(file, error);
  return std::nullopt;
}

Result<fs::path> prepare_trace_folder(const std::string& given, int ranks) {
  const GivenFolder traces{"--trace", given};
  Result<fs::path> folder = traces.make();
  for (int rank = 0; folder && rank < ranks; ++rank) {
    const fs::path file = *folder / fmt::format("rank-{}.json", rank);
    if (Status tried = traces.try_file(file); !tried) return tl::unexpected(tried.error());
    if (Status removed = traces.remove(file); !removed) return tl::unexpected(removed.error());
  }
  return folder;
}

Result<fs::path> make_work_folder(const std::string& given) {
  return GivenFolder{kWorkDirectory, given}.make(fs::perms::owner_all);
}

// With the first file that execute() opens.
Status try_work_folder(const std::string& given, const fs::path& folder) {
  return GivenFolder{kWorkDirectory, given}.try_file(folder / "plan.json.new");
}

Result<fs::path> prepare_event_folder(const std::string& given) {
  const GivenFolder events{"--tensorboard", given};
  Result<fs::path> folder = events.make();
  if (!folder) return folder;
  return events.try_file(*folder / ".caravan-run").map([&] { return *std::move(folder); });
}

}  // namespace caravan::cli
