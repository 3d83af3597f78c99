#include "cli/schedule/trace_text.h"

#include <fmt/format.h>

#include "common/json.h"
#include "data/input_file.h"

namespace caravan::cli {

// The path has just been typed, so what cannot be read is bad input.
Result<std::string> read_trace_file(const std::string& path) {
  const auto wrong = [](const std::string& message) { return bad_input(message); };
  const Result<data::InputFile> file = data::InputFile::open(path);
  if (!file) return wrong(file.error().message);
  if (file->size() > kLargestTraceBytes)
    return wrong(
        fmt::format("{}: {} bytes are no trace; {} are the most", path, file->size(), kLargestTraceBytes));
  Result<std::string> text = file->text();
  if (!text) return wrong(text.error().message);
  return text;
}

Result<v1alpha1::RankTrace> read_trace(const std::string& path, const ReadFile& read) {
  const Result<std::string> text = read(path);
  if (!text) return tl::unexpected(text.error());
  Result<v1alpha1::RankTrace> trace = from_json<v1alpha1::RankTrace>(*text);
  if (!trace) return bad_input(fmt::format("{}: {}", path, trace.error().message));
  return trace;
}

v1alpha1::TraceOrigin without_place(v1alpha1::TraceOrigin origin) {
  origin.clear_rank();
  origin.clear_tensor_rank();
  origin.clear_data_rank();
  origin.clear_stage();
  return origin;
}

}  // namespace caravan::cli
