// The trainer, but that one rank kills itself at a point that a test chooses, once: this file stands before
// the functions in which the points lie (the linker's --wrap).
//
//   DIES_AT     rank:point
//   DIES_AFTER  a path: not before there is something there
//   DIES_ONCE   a file that is made by whoever dies, so that nobody does again
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include "checkpoint/folder/commit.h"
#include "checkpoint/folder/store.h"
#include "worker/trainer/checkpoint/snapshot.h"
#include "worker/trainer/loop/checkpoint_loader.h"

namespace {

using namespace caravan;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void pass(const std::string& point) {
  static const std::string chosen = setting("DIES_AT");
  if (chosen != setting("RANK") + ":" + point) return;
  struct stat ignored {};
  if (stat(setting("DIES_AFTER").c_str(), &ignored) != 0) return;
  if (open(setting("DIES_ONCE").c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0) kill(getpid(), SIGKILL);
}

}  // namespace

extern "C" {

using trainer::PhaseClock;
void __real__ZN7caravan7trainer10PhaseClock5ScopeC1ERS1_NS0_5PhaseE(PhaseClock::Scope*, PhaseClock&,
                                                                    trainer::Phase);
void __wrap__ZN7caravan7trainer10PhaseClock5ScopeC1ERS1_NS0_5PhaseE(PhaseClock::Scope* scope,
                                                                    PhaseClock& clock, trainer::Phase phase) {
  pass(std::string(trainer::phase_name(phase)));
  __real__ZN7caravan7trainer10PhaseClock5ScopeC1ERS1_NS0_5PhaseE(scope, clock, phase);
}

trainer::Resumed __real__ZN7caravan7trainer16CheckpointLoader6resumeEN2tl8expectedIvNS_5ErrorEEE(
    trainer::CheckpointLoader*, Status);
trainer::Resumed __wrap__ZN7caravan7trainer16CheckpointLoader6resumeEN2tl8expectedIvNS_5ErrorEEE(
    trainer::CheckpointLoader* loader, Status may_begin) {
  pass("start");
  return __real__ZN7caravan7trainer16CheckpointLoader6resumeEN2tl8expectedIvNS_5ErrorEEE(
      loader, std::move(may_begin));
}

void __real__ZN7caravan7trainer8Snapshot4takeEv(trainer::Snapshot*);
void __wrap__ZN7caravan7trainer8Snapshot4takeEv(trainer::Snapshot* snapshot) {
  pass("snapshot");
  __real__ZN7caravan7trainer8Snapshot4takeEv(snapshot);
}

using checkpoint::FilePlan;
using checkpoint::RankWriter;
Status __real__ZNK7caravan7trainer8Snapshot5writeERKNS_10checkpoint8FilePlanERNS2_10RankWriterE(
    const trainer::Snapshot*, const FilePlan&, RankWriter&);
Status __wrap__ZNK7caravan7trainer8Snapshot5writeERKNS_10checkpoint8FilePlanERNS2_10RankWriterE(
    const trainer::Snapshot* snapshot, const FilePlan& plan, RankWriter& writer) {
  pass("write");
  return __real__ZNK7caravan7trainer8Snapshot5writeERKNS_10checkpoint8FilePlanERNS2_10RankWriterE(
      snapshot, plan, writer);
}

Status __real__ZN7caravan10checkpoint10RankWriter6finishEv(RankWriter*);
Status __wrap__ZN7caravan10checkpoint10RankWriter6finishEv(RankWriter* writer) {
  pass("acknowledge");
  return __real__ZN7caravan10checkpoint10RankWriter6finishEv(writer);
}

using checkpoint::SaveRequest;
using checkpoint::Volume;
Status __real__ZN7caravan10checkpoint6commitERNS0_6VolumeERKNS0_8FilePlanERKNS0_11SaveRequestEl(
    Volume&, const FilePlan&, const SaveRequest&, int64_t);
Status __wrap__ZN7caravan10checkpoint6commitERNS0_6VolumeERKNS0_8FilePlanERKNS0_11SaveRequestEl(
    Volume& volume, const FilePlan& plan, const SaveRequest& request, int64_t block_bytes) {
  pass("commit");
  return __real__ZN7caravan10checkpoint6commitERNS0_6VolumeERKNS0_8FilePlanERKNS0_11SaveRequestEl(
      volume, plan, request, block_bytes);
}

Status __real__ZN7caravan10checkpoint11keep_newestERNS0_6VolumeEii(Volume&, int, int);
Status __wrap__ZN7caravan10checkpoint11keep_newestERNS0_6VolumeEii(Volume& volume, int count, int step) {
  pass("tidy");
  return __real__ZN7caravan10checkpoint11keep_newestERNS0_6VolumeEii(volume, count, step);
}
}
