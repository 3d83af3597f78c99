// Names in a job's checkpoint folder: that of a folder says what may be believed of what is in it. Pure.
//
//   step-000500                 a checkpoint that was committed; nothing in it changes any more
//   step-000500.tmp-3-RUN       what attempt 3 of a run was writing: never read
//   step-000500.tmp-0           what is left of a checkpoint that is being removed: never read
//   step-000500.tmp-3-RUN.gone  the same of what was unfinished
//   step-000500.damaged-3       set aside by attempt 3, which found it damaged: kept for people, never read
//   owner-000007.3.RUN.JOB      who writes here: attempt 3 of that run of the job, if no number is higher
//   (owner.h)
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace caravan::checkpoint {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kConfigFile[] = "config.json";
inline constexpr char kGenerationConfigFile[] = "generation_config.json";
inline constexpr char kWeightsFile[] = "model.safetensors";
inline constexpr char kWeightsIndexFile[] = "model.safetensors.index.json";

inline constexpr int64_t kLastOwnerNumber = std::numeric_limits<int64_t>::max();

// An attempt that writes checkpoints.
struct Owner {
  int64_t number = 0;    // each takes over from those below; 0: has not taken the folder over
  int attempt = 1;       // of the run
  std::string run = {};  // RankConfig.job_uid
  std::string job = {};
  bool operator==(const Owner&) const = default;
};

std::string step_folder(int step);
// Those of two runs never have the same name.
std::string unfinished_folder(int step, int attempt, std::string_view run = {});
std::string damaged_folder(int step, int attempt);
// The name under which a committed or an unfinished one is removed; what is being removed has its own.
std::string going_folder(std::string_view folder);
std::string share_file(int rank);

// The step of a committed checkpoint; none for every other name.
std::optional<int> committed_step(std::string_view folder);
// Or being removed.
bool is_unfinished(std::string_view folder);
bool is_going(std::string_view folder);

std::string owner_file(const Owner& owner);
// None for every name that is no owner's, nor for one that a terminal must not be shown: anybody may have put
// it there.
std::optional<Owner> owner_named(std::string_view file);
// Whether one took over after the other. Of two with the same number, which made their records at once, the
// later attempt of a run is it, and otherwise the names of their runs decide.
bool is_later(const Owner& one, const Owner& other);

}  // namespace caravan::checkpoint
