// The trainer, but that its ranks take more memory than was planned: they compute in fp64. This file stands
// before the function in which that begins (the linker's --wrap).
#include <string>

#include "worker/trainer/loop/rank_config.h"

using namespace caravan;

extern "C" {

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
