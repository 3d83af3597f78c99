#include "worker/agent/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caravan::agent {

std::string say_nodes(const std::vector<int>& nodes) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNamed); ++i)
    names.push_back(fmt::format("node {}", nodes[i]));
  const std::string more = nodes.size() > kNamed ? fmt::format(" and {} more", nodes.size() - kNamed) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

std::optional<int> Membership::node_of(ConnectionId connection) const {
  const auto found = node_of_.find(connection);
  return found == node_of_.end() ? std::nullopt : std::optional(found->second);
}

bool Membership::is_another(const v1alpha1::AgentHello& hello) const {
  return hello.incarnation() != at(hello.node()).incarnation;
}

bool Membership::is_superseded(const v1alpha1::AgentHello& hello) const {
  if (!is_another(hello)) return false;
  return hello.first_attempt() < at(hello.node()).made_for || superseded_.count(hello.incarnation()) > 0;
}

void Membership::join(ConnectionId connection, const v1alpha1::AgentHello& hello, TimePoint now) {
  Member& member = at(hello.node());
  if (is_another(hello) && !member.incarnation.empty()) superseded_.insert(member.incarnation);
  set_connection(hello.node(), connection);
  set_stopped(hello.node());
  member.incarnation = hello.incarnation();
  member.made_for = hello.first_attempt();
  member.heard = now;
  member.leaving = false;
}

void Membership::leave(int node) {
  set_connection(node, std::nullopt);
  set_stopped(node);
}

void Membership::start_all() {
  for (Member& member : members_) member.stopped = false;
  running_ = static_cast<int>(members_.size());
}

void Membership::set_stopped(int node) {
  if (!std::exchange(at(node).stopped, true)) --running_;
}

std::vector<int> Membership::leaving() const {
  std::vector<int> nodes;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].connection && members_[i].leaving) nodes.push_back(static_cast<int>(i));
  }
  return nodes;
}

std::vector<ConnectionId> Membership::connections() const {
  std::vector<ConnectionId> all;
  for (const Member& member : members_) {
    if (member.connection) all.push_back(*member.connection);
  }
  return all;
}

std::vector<int> Membership::missing() const {
  std::vector<int> nodes;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].connection) nodes.push_back(static_cast<int>(i));
  }
  return nodes;
}

void Membership::set_connection(int node, std::optional<ConnectionId> connection) {
  Member& member = at(node);
  if (member.connection) node_of_.erase(*member.connection);
  if (connection) node_of_[*connection] = node;
  connected_ += static_cast<int>(connection.has_value()) - static_cast<int>(member.connection.has_value());
  member.connection = connection;
}

}  // namespace caravan::agent
