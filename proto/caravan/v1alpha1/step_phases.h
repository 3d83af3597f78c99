// The phases of a step, by their names in PhaseSeconds and in its order.
#pragma once

#include <array>
#include <string_view>

#include "caravan/v1alpha1/metrics.pb.h"

namespace caravan {

struct StepPhase {
  std::string_view name;
  double (v1alpha1::PhaseSeconds::*get)() const;
  void (v1alpha1::PhaseSeconds::*set)(double seconds);
};

inline constexpr std::array<StepPhase, 8> kStepPhases{{
    {"data", &v1alpha1::PhaseSeconds::data, &v1alpha1::PhaseSeconds::set_data},
    {"forward", &v1alpha1::PhaseSeconds::forward, &v1alpha1::PhaseSeconds::set_forward},
    {"backward", &v1alpha1::PhaseSeconds::backward, &v1alpha1::PhaseSeconds::set_backward},
    {"communication", &v1alpha1::PhaseSeconds::communication, &v1alpha1::PhaseSeconds::set_communication},
    {"optimizer", &v1alpha1::PhaseSeconds::optimizer, &v1alpha1::PhaseSeconds::set_optimizer},
    {"evaluation", &v1alpha1::PhaseSeconds::evaluation, &v1alpha1::PhaseSeconds::set_evaluation},
    {"checkpoint", &v1alpha1::PhaseSeconds::checkpoint, &v1alpha1::PhaseSeconds::set_checkpoint},
    {"idle", &v1alpha1::PhaseSeconds::idle, &v1alpha1::PhaseSeconds::set_idle},
}};

}  // namespace caravan
