// Reads a job file (YAML or JSON), reports every mistake at once, applies `--set` and defaults.
//
// An error's message has one line per mistake, `FILE:LINE: field.path: what is wrong; what would be right`,
// and exit code 2; a mistake in an override stands as `--set: field.path: ...`. Limits: 1 MiB, 64 levels, no
// aliases, UTF-8, one document. A file that came out of `kubectl get -o yaml` is accepted: what the server
// wrote is ignored with a note.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"

namespace caravan::cli {

struct LoadedJob {
  v1alpha1::LlamaTrainingJob job;         // with defaults applied
  std::vector<std::string> cluster_only;  // paths of given fields that have a meaning on a cluster only
  std::vector<std::string> notes;         // whole lines for the user: what was ignored or read differently
};

// Whose part it is to make a name from metadata.generateName.
enum class Naming { kHere, kByServer };

// path: of the file; - is standard input. sets: "path=value" pairs that overrule the file, such as
// spec.resources.device.kind=CPU.
Result<LoadedJob> load_job(const std::string& path, const std::vector<std::string>& sets,
                           Naming naming = Naming::kHere);

// The same for a text that was read already; name: what it is called in messages.
Result<LoadedJob> parse_job(const std::string& text, const std::string& name,
                            const std::vector<std::string>& sets, Naming naming = Naming::kHere);

}  // namespace caravan::cli
