#include "checkpoint/folder/copied_file.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <vector>

#include "checkpoint/folder/volume.h"

namespace caravan::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestFile = 64 << 20;  // the largest tokenizer.json that is known has a third

// Without links in any of them.
std::vector<fs::path> roots_of(const fs::path& folder) {
  std::vector<fs::path> roots = {folder};
  if (folder.parent_path().filename() == "snapshots")
    roots.push_back(folder.parent_path().parent_path() / "blobs");
  return roots;
}

bool is_json(const std::string& text) {
  boost::json::error_code error;
  boost::json::parse(text, error);
  return !error;
}

}  // namespace

Result<std::string> read_copied_file(const std::string& folder, const std::string& name) {
  const std::string shown = (fs::path(folder) / name).string();
  std::error_code error;
  const fs::path real_folder = fs::canonical(folder, error);
  const fs::path target = error ? fs::path() : fs::canonical(real_folder / name, error);
  if (error) return bad_input(fmt::format("{}: cannot open: {}", shown, error.message()));
  for (const fs::path& root : roots_of(real_folder)) {
    const fs::path inside = target.lexically_relative(root);
    if (inside.empty() || *inside.begin() == "..") continue;
    // The volume follows no link, should one have come there since.
    const auto volume = open_volume(root.string());
    if (!volume) return tl::unexpected(volume.error());
    auto text = read_text(**volume, inside.string(), kLongestFile);
    if (text && name.ends_with(".json") && !is_json(*text))
      return bad_input(fmt::format("{}: is no JSON; fetch it again", shown));
    return text;
  }
  return bad_input(
      fmt::format("{}: is a link to {}, which is not in that folder; put the file itself there if "
                  "it belongs to it",
                  shown, target.string()));
}

}  // namespace caravan::checkpoint
