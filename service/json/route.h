// Which method a request over HTTP is for, by the google.api.http options of the service. Pure.
//
// Templates have literal segments and one field of the request, such as
// /v1alpha1/{name=namespaces/*/jobs/*}:suspend, where * is one segment. Paths with escapes, empty segments or
// dots alone are refused, so that a path is read in one way by everybody.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

#include "service/answer/fault.h"

namespace caravan::service {

struct Route {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string verb = {};    // of HTTP, such as POST
  std::string body = {};    // the field that it is; *: all that the path has not; empty: there is none
  std::string ending = {};  // such as :suspend; empty: there is none
  std::vector<std::string> segments = {};
  const google::protobuf::FieldDescriptor* field = nullptr;  // that the path has
  std::size_t first = 0;                                     // of the field's segments
  std::size_t end = 0;                                       // behind the last of them
};

struct Match {
  const Route* route = nullptr;
  std::string value = {};  // of the route's field
};

// Fields that are parameters of the query: all that path and body do not have, but for messages.
std::vector<const google::protobuf::FieldDescriptor*> parameters_of(const Route& route);

class Routes {
 public:
  // A method without the option is not served over HTTP; a template that is none of the above cannot happen.
  explicit Routes(const google::protobuf::ServiceDescriptor& service);

  const std::vector<Route>& all() const { return routes_; }
  // INVALID_ARGUMENT, NOT_FOUND, or UNIMPLEMENTED for a path that has other verbs.
  Answer<Match> find(std::string_view verb, std::string_view path) const;
  // That a path has; empty: it is none of ours.
  std::vector<std::string> verbs_of(std::string_view path) const;

 private:
  std::vector<Match> matches_of(std::string_view path) const;

  std::vector<Route> routes_;
};

}  // namespace caravan::service
