// Who speaks for each node of a gang: the connection that is the node's membership, when it was heard last,
// and whether ranks of the attempt still run there. Pure.
//
// Guarantees: a connection speaks for one node at most. Of two living agents of one node one stays: the one
// made for the later attempt, of equals the one that came last; the other is superseded, as often as it
// comes, so that they never evict each other in turn.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

using ConnectionId = std::int64_t;
using TimePoint = std::chrono::steady_clock::time_point;

struct Member {
  std::optional<ConnectionId> connection;
  std::string incarnation = {};  // of the agent that speaks for it, also while that is away
  int made_for = 0;              // attempt
  TimePoint heard;
  bool stopped = true;   // runs no rank of this attempt
  bool leaving = false;  // was told to end, and waits until its attempt is over
  std::optional<TimePoint> last_death = {};
};

// "node 3, node 4 and 7 more"
std::string say_nodes(const std::vector<int>& nodes);

class Membership {
 public:
  explicit Membership(int nodes) : members_(static_cast<std::size_t>(nodes)) {}

  Member& at(int node) { return members_[static_cast<std::size_t>(node)]; }
  const Member& at(int node) const { return members_[static_cast<std::size_t>(node)]; }
  std::optional<int> node_of(ConnectionId connection) const;

  // hello.node() must be one of the gang's.
  bool is_superseded(const v1alpha1::AgentHello& hello) const;
  bool is_another(const v1alpha1::AgentHello& hello) const;  // than the agent that spoke for the node
  // Whoever spoke for the node before must have left.
  void join(ConnectionId connection, const v1alpha1::AgentHello& hello, TimePoint now);
  // A node without its agent has no ranks either: they end with it.
  void leave(int node);

  void start_all();
  void set_stopped(int node);
  std::vector<int> leaving() const;

  bool all_connected() const { return connected_ == static_cast<int>(members_.size()); }
  bool all_stopped() const { return running_ == 0; }
  std::vector<ConnectionId> connections() const;
  std::vector<int> missing() const;

 private:
  void set_connection(int node, std::optional<ConnectionId> connection);

  std::vector<Member> members_;
  std::unordered_map<ConnectionId, int> node_of_;
  std::set<std::string> superseded_;  // incarnations
  int connected_ = 0;                 // nodes
  int running_ = 0;                   // nodes that have not stopped
};

}  // namespace caravan::agent
