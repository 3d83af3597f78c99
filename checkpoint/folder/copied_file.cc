#include "checkpoint/folder/copied_file.h"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <filesystem>

#include "checkpoint/folder/volume.h"
#include "checkpoint/hugging_face/tokenizer_files.h"

namespace caravan::checkpoint {
namespace {

namespace fs = std::filesystem;

// Without links in any of them.
std::vector<fs::path> roots_of(const fs::path& folder) {
  std::vector<fs::path> roots = {folder};
  if (folder.parent_path().filename() == "snapshots")
    roots.push_back(folder.parent_path().parent_path() / "blobs");
  return roots;
}

// Keeps nothing of what it hears: a tokenizer's vocabulary is large.
struct NoValues {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using Error = boost::json::error_code;
  using Text = boost::json::string_view;

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_array_begin(Error&) { return true; }
  bool on_array_end(std::size_t, Error&) { return true; }
  bool on_object_begin(Error&) { return true; }
  bool on_object_end(std::size_t, Error&) { return true; }
  bool on_string_part(Text, std::size_t, Error&) { return true; }
  bool on_string(Text, std::size_t, Error&) { return true; }
  bool on_key_part(Text, std::size_t, Error&) { return true; }
  bool on_key(Text, std::size_t, Error&) { return true; }
  bool on_number_part(Text, Error&) { return true; }
  bool on_int64(std::int64_t, Text, Error&) { return true; }
  bool on_uint64(std::uint64_t, Text, Error&) { return true; }
  bool on_double(double, Text, Error&) { return true; }
  bool on_bool(bool, Error&) { return true; }
  bool on_null(Error&) { return true; }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }
};

bool is_json(const std::string& text) {
  boost::json::basic_parser<NoValues> parser{boost::json::parse_options()};
  boost::json::error_code error;
  const std::size_t read = parser.write_some(/*more=*/false, text.data(), text.size(), error);
  return !error && text.find_first_not_of(" \t\r\n", read) == std::string::npos;
}

// What stands in the folder is wrong, not the machine.
bool is_content(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
         error == std::errc::too_many_symbolic_link_levels;
}

}  // namespace

Result<std::string> read_copied_file(const std::string& folder, const std::string& name, int64_t most_bytes) {
  const std::string shown = (fs::path(folder) / name).string();
  std::error_code error;
  const fs::path real_folder = fs::canonical(folder, error);
  const fs::path target = error ? fs::path() : fs::canonical(real_folder / name, error);
  if (error) {
    const std::string message = fmt::format("{}: cannot open: {}", shown, error.message());
    return is_content(error) ? bad_input(message) : failure(message);
  }
  for (const fs::path& root : roots_of(real_folder)) {
    const fs::path inside = target.lexically_relative(root);
    if (inside.empty() || *inside.begin() == "..") continue;
    // The volume follows no link, should one have come there since.
    const auto volume = open_volume(root.string());
    if (!volume) return tl::unexpected(volume.error());
    auto text = read_text(**volume, inside.string(), most_bytes);
    if (text && name.ends_with(".json") && !is_json(*text))
      return bad_input(fmt::format("{}: is no JSON; fetch it again", shown));
    return text;
  }
  return bad_input(
      fmt::format("{}: is a link to {}, which is not in that folder; put the file itself there if "
                  "it belongs to it",
                  shown, target.string()));
}

Result<std::vector<CopiedFile>> read_tokenizer(const std::string& folder) {
  std::vector<CopiedFile> files;
  int64_t left = kLargestTokenizer;
  for (const std::string_view name : kTokenizerFiles) {
    std::error_code ignored;  // what is there and cannot be opened is told below
    if (fs::symlink_status(fs::path(folder) / name, ignored).type() == fs::file_type::not_found) continue;
    auto text = read_copied_file(folder, std::string(name), left);
    if (!text) return tl::unexpected(text.error());
    left -= std::ssize(*text);
    files.push_back({.name = std::string(name), .text = *std::move(text)});
  }
  return files;
}

}  // namespace caravan::checkpoint
