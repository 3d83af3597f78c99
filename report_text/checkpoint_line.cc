#include "report_text/checkpoint_line.h"

#include <fmt/format.h>

#include "common/readable_bytes.h"
#include "common/utf8.h"

namespace caravan {

std::string failed_save_text(const v1alpha1::CheckpointReport& checkpoint) {
  return fmt::format("step {} has no checkpoint: {}", checkpoint.step(), readable(checkpoint.message()));
}

std::string checkpoint_line(const v1alpha1::CheckpointReport& checkpoint, const ConsoleStyle& style) {
  using Report = v1alpha1::CheckpointReport;
  const auto trouble = [&](const char* name, const std::string& what) {
    return fmt::format("{}: {}", paint(name, Colour::kYellow, style), what);
  };
  const std::string path = readable(checkpoint.path());
  switch (checkpoint.outcome()) {
    case Report::Written:
      return paint(fmt::format("checkpoint of step {} in {}: {} in {:.2f} s, of which training waited {:.2f}",
                               checkpoint.step(), path, readable_bytes(checkpoint.bytes()),
                               checkpoint.seconds(), checkpoint.stall_seconds()),
                   Colour::kDim, style);
    case Report::Resumed:
      return fmt::format("Goes on after step {}, from its checkpoint in {}", checkpoint.step(), path);
    case Report::Failed:
      return trouble("CheckpointFailed", failed_save_text(checkpoint));
    case Report::Unusable:
      return trouble("CheckpointUnusable", fmt::format("the one of step {} cannot be used: {}",
                                                       checkpoint.step(), readable(checkpoint.message())));
    default:
      return "";
  }
}

}  // namespace caravan
