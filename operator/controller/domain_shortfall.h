// What a job asks of the domains of a topology and does not get, in words. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/children/replica_groups.h"
#include "operator/controller/domain_choice.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// There is no domain at all.
std::string say_no_domain(const Job& job, const Settings& settings);

// Which copies of the model have no room in any; empty: all have.
std::string say_no_room(const Job& job, const DomainChoice& choice, const ReplicaGroups& replicas);

// Which copies stand in several, as Preferred allows, whoever chose these; empty: none.
std::string say_what_stands_apart(const Snapshot& snapshot, const v1alpha1::JobPlan& plan);

}  // namespace caravan::controller
