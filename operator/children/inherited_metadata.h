// Labels and annotations of a job that its children get too, so that what selects, bills or configures by
// them finds the pods.
//
// Not those that belong to whoever wrote them onto the job (kubectl, helm, Kueue), nor names that the
// operator gives itself. Bounded, because every pod carries them and the caches keep them: see
// kMostInheritedBytes. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace caravan::controller {

using Texts = std::map<std::string, std::string>;

// Names and values, of labels and of annotations each. What does not fit, by the order of names, is left out.
inline constexpr std::size_t kMostInheritedBytes = 16384;

// Those labels or annotations of a job that its children get.
Texts inherited(const Texts& of_the_job);

}  // namespace caravan::controller
