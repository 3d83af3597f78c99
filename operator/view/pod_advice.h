// Why one pod does not start, in words that its user can act on: what the scheduler and the kubelet say, and
// what to do about it. Pure.
#pragma once

#include <string>
#include <vector>

namespace caravan::controller {

// Of a container that waits; empty while that is nothing unusual.
std::string explain_waiting(const std::string& reason, const std::string& message);
// Of a pod that no machine takes.
std::string explain_unschedulable(const std::string& message);
// Of a pod that the scheduler may not look at while these are there.
std::string explain_gates(const std::vector<std::string>& gates);

}  // namespace caravan::controller
