// Which domains of a topology (racks, blocks) there are for a job, and how many of its pods fit into each:
// now, beside other jobs, and if there were none.
//
// Only nodes count that have the label and that the job asks for. Those that take none of its pods now, since
// they are not ready, cordoned or tainted, have no room: a copy that stands beside them is still in a domain.
// What programs other than Caravan run there is not known. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/api/job_object.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

using DomainDemands = std::map<std::string, Demand>;  // by domain, as pod_placement.h names them

struct Domain {
  std::map<std::string, std::string> node_labels = {};  // key and name
  int room = 0;                                         // pods of the job that find room now
  int claimed = 0;                                      // of these, what waiting pods of others ask for
  int capacity = 0;                                     // and if there were no other jobs
};

struct WantedRoom {
  std::string gpu_product = {};  // label value of the plan; empty: no node told of one
  Demand of_a_pod = {};
  bool tolerates_all = false;  // taints keep none of them off
};

// By name, with nothing claimed. taken: by node, what pods of other jobs ask of it.
std::vector<Domain> survey_domains(const Job& job, const WantedRoom& wanted,
                                   const std::vector<NodeView>& nodes,
                                   const std::map<std::string, Demand>& taken);
// As many pods of the job as need the room that is asked for.
int worth_in_pods(const Demand& asked, const Demand& of_a_pod);

}  // namespace caravan::controller
