// The trainer, but that its ranks take more memory than was planned, and may not: they compute in fp64, and
// from its first forward on a rank gets CARAVAN_ROOM bytes and no more from the kernel. This file stands
// before the functions in which that begins (the linker's --wrap).
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "worker/trainer/loop/phase_clock.h"
#include "worker/trainer/loop/rank_config.h"

namespace {

using namespace caravan;

// What RLIMIT_DATA limits: unlike the address space, that is what the process itself has asked for.
rlim_t data_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) return std::stoull(line.substr(line.find_first_of("0123456789"))) * 1024;
  }
  std::abort();
}

void limit_memory_once() {
  static bool is_limited = false;
  if (std::exchange(is_limited, true)) return;
  const rlim_t most = data_bytes() + std::stoull(std::getenv("CARAVAN_ROOM"));
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) std::abort();
}

}  // namespace

extern "C" {

using trainer::PhaseClock;
void __real__ZN7caravan7trainer10PhaseClock5ScopeC1ERS1_NS0_5PhaseE(PhaseClock::Scope*, PhaseClock&,
                                                                    trainer::Phase);
void __wrap__ZN7caravan7trainer10PhaseClock5ScopeC1ERS1_NS0_5PhaseE(PhaseClock::Scope* scope,
                                                                    PhaseClock& clock, trainer::Phase phase) {
  if (phase == trainer::Phase::kForward) limit_memory_once();
  __real__ZN7caravan7trainer10PhaseClock5ScopeC1ERS1_NS0_5PhaseE(scope, clock, phase);
}

using Options = Result<trainer::TrainerOptions>;
Options __real__ZN7caravan7trainer16load_rank_configERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    const std::string&);
Options __wrap__ZN7caravan7trainer16load_rank_configERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    const std::string& path) {
  Options options =
      __real__ZN7caravan7trainer16load_rank_configERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
          path);
  if (options) options->precision = trainer::Precision::FP64;
  return options;
}
}
