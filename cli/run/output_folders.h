// What a run writes beside its checkpoints: the folders that --trace, --tensorboard and --work-directory
// name. Each is made where it is absent and must take files; its absolute path is given. Errors have exit
// code 2 and name the option.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/result.h"

namespace caravan::cli {

// Tried with the file itself, which is left as it was. Nothing is waited for: what is there and neither a
// regular file nor a character device, such as a pipe or a link to nothing, is left alone. Nothing: it can be
// written.
std::optional<std::string> why_unwritable(const std::filesystem::path& file);

// Every rank of a run writes its trace into it: those of these ranks that an earlier run left there are
// removed, so that none is taken for one of this run.
Result<std::filesystem::path> prepare_trace_folder(const std::string& given, int ranks);

// One that is made is for this user alone. Whether it takes files is tried by the run that has locked it.
Result<std::filesystem::path> make_work_folder(const std::string& given);
Status try_work_folder(const std::string& given, const std::filesystem::path& folder);

// Nothing in it is removed: a run may go on where an earlier one stopped.
Result<std::filesystem::path> prepare_event_folder(const std::string& given);

}  // namespace caravan::cli
