// Which of several node pools a job is planned for, and why: the one that holds the whole job and has the
// shortest step by the planner's prediction.
//
// Where none holds the whole job, it is the one with the most devices, since nodes may come. Of pools that
// are equal in that the larger is taken, then the first by name, so that the same nodes always give the same
// plan. What others use at the moment does not count. Of very many pools those are planned for that hold the
// job on the fastest products, and how many are not is said. Errors: the planner's, of the largest pool, with
// the names of the others, unless the job itself is what is wrong. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/result.h"
#include "operator/view/device_survey.h"

namespace caravan::controller {

struct ChosenPlace {
  std::size_t place = 0;  // which of the places it is
  v1alpha1::Plan plan = {};
  std::string gpu_product = {};  // label value; empty: no node tells of one
  std::string why = {};          // a sentence about the pools; empty where there was no choice
};

// places: at least one; of several each has a pool, the largest first.
Result<ChosenPlace> choose_place(const std::vector<SurveyedJob>& places);

}  // namespace caravan::controller
