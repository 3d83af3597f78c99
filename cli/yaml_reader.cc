#include "cli/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>

#include "common/file_contents.h"
#include "common/readable_bytes.h"
#include "common/standard_stream.h"
#include "common/utf8.h"

namespace caravan::cli {
namespace {

using schema::Node;
using schema::NodeKind;

// Leaves the parser from within an event; yaml-cpp has no other way to stop.
struct Refused {
  YAML::Mark mark;
  std::string message;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  std::optional<Node> take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) throw Refused{mark, "a second document starts here; keep one document per file"};
  }
  void OnDocumentEnd() override {}

  void OnAnchor(const YAML::Mark& mark, const std::string& /*name*/) override {
    throw Refused{mark, "anchors (&) and aliases (*) are not allowed; write the value out"};
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refused{mark, "anchors (&) and aliases (*) are not allowed; write the value out"};
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { add(mark, {}); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node scalar;
    scalar.kind = NodeKind::kScalar;
    scalar.text = value;
    scalar.quoted = tag == kQuotedTag;
    add(mark, std::move(scalar));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, NodeKind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, NodeKind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  static constexpr std::string_view kPlainTag = "?";
  static constexpr std::string_view kQuotedTag = "!";

  struct Open {
    YAML::Mark mark;
    Node node;
    std::optional<Node> key;  // of a map: read, its value still to come
  };

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == kPlainTag || tag == kQuotedTag) return;
    throw Refused{mark, "tags (!name) are not allowed; write the plain value"};
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == NodeKind::kMap && !open_.back().key;
  }

  void open(const YAML::Mark& mark, const std::string& tag, NodeKind kind) {
    refuse_tag(mark, tag);
    if (expects_key())
      throw Refused{mark, "a list or a map where a key must be text; perhaps a bracket is not closed"};
    if (open_.size() >= kMaximumYamlDepth) {
      throw Refused{mark, fmt::format("nested deeper than {} levels", kMaximumYamlDepth)};
    }
    Node node;
    node.kind = kind;
    open_.push_back({mark, std::move(node), std::nullopt});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(done.mark, std::move(done.node));
  }

  void add(const YAML::Mark& mark, Node node) {
    node.line = mark.line + 1;
    if (expects_key()) {
      if (node.kind != NodeKind::kScalar) throw Refused{mark, "a key is missing before ':'"};
      open_.back().key = std::move(node);
    } else if (open_.empty()) {
      root_ = std::move(node);
    } else {
      Open& parent = open_.back();
      if (parent.key) {
        node.key = std::move(parent.key->text);
        node.line = parent.key->line;
        parent.key.reset();
      }
      parent.node.children.push_back(std::move(node));
    }
  }

  std::vector<Open> open_;
  std::optional<Node> root_;
};

tl::unexpected<Error> error_at(const std::string& name, int line, std::string_view message) {
  return bad_input(fmt::format("{}:{}: {}", name, std::max(line, 0) + 1, message));
}

// yaml-cpp is terse; what a user did is mostly one of these.
struct Hint {
  std::string_view yaml_cpp_says;
  std::string_view likely_cause;
};

constexpr std::array kHints = {
    Hint{"illegal map value", "check the indentation, spaces only, and quote text that contains ': '"},
    Hint{"end of map not found", "check the indentation, spaces only"},
    Hint{"end of sequence not found", "check the indentation, spaces only"},
    Hint{"end of map flow not found", "a brace is not closed"},
    Hint{"end of sequence flow not found", "a bracket is not closed"},
    Hint{"illegal EOF in scalar", "a quote is not closed"},
    Hint{"the referenced anchor is not defined", "quote text that begins with '*'"},
};

// It may quote a byte of the file, such as one behind a backslash.
std::string with_hint(std::string message) {
  std::ranges::replace_if(
      message, [](char c) { return c < ' ' || c > '~'; }, '?');
  const auto* hint = std::find_if(kHints.begin(), kHints.end(),
                                  [&](const Hint& candidate) { return candidate.yaml_cpp_says == message; });
  return hint == kHints.end() ? fmt::format("not valid YAML: {}", message)
                              : fmt::format("not valid YAML: {}; {}", message, hint->likely_cause);
}

int line_of_byte(std::string_view text, std::size_t at) {
  return static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Status check_bytes(std::string_view text, const std::string& name) {
  if (text.size() > kMaximumYamlBytes) {
    return bad_input(fmt::format("{}: larger than {}; a job file is far smaller", name,
                                 readable_bytes(kMaximumYamlBytes)));
  }
  if (const auto at = first_invalid_utf8(text)) {
    return error_at(name, line_of_byte(text, *at), "not valid UTF-8; save the file as UTF-8 text");
  }
  if (const auto at = text.find('\0'); at != std::string_view::npos) {
    return error_at(name, line_of_byte(text, at), "a NUL byte; this is not a text file");
  }
  return {};
}

// As much as is needed to know that it is too much.
Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text(kMaximumYamlBytes + 1, '\0');
  errno = 0;
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return bad_input(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

// What the file system says, instead of a parser's opinion about nothing.
Result<std::string> read_bytes(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return bad_input(fmt::format("{}: is a directory; name a file in it", path));
  }
  auto text = file_beginning(path, kMaximumYamlBytes + 1);
  if (!text) return bad_input(text.error().message);
  return text;
}

}  // namespace

Result<Node> read_yaml(std::string_view text, const std::string& name) {
  if (Status bytes = check_bytes(text, name); !bytes) return tl::unexpected(bytes.error());
  TreeBuilder builder;
  try {
    // A comment that ends without a new line: yaml-cpp takes a quote that is still open at a last new line
    // for closed.
    std::istringstream stream{fmt::format("{}{}#", text, text.ends_with('\n') ? "" : "\n")};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return error_at(name, refused.mark.line, refused.message);
  } catch (const YAML::Exception& error) {
    const int last_line = line_of_byte(text, text.find_last_not_of('\n') + 1);
    return error_at(name, std::min(error.mark.line, last_line), with_hint(error.msg));
  }
  std::optional<Node> root = builder.take();
  if (!root || root->kind == NodeKind::kNull) return bad_input(fmt::format("{}: is empty", name));
  return *std::move(root);
}

Result<std::string> read_input(const std::string& path) {
  return path == kStandardStream ? read_stream(std::cin, input_name(path)) : read_bytes(path);
}

Result<Node> read_yaml_file(const std::string& path) {
  return read_input(path).and_then(
      [&](const std::string& text) { return read_yaml(text, input_name(path)); });
}

}  // namespace caravan::cli
