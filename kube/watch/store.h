// The local copy of one resource: objects by key and by the UID of their controller.
//
// Objects are immutable and shared, so that readers keep what they read without a lock. Every mutation
// returns what it changed; an object that was replaced by another of the same name is reported as gone and
// then as new. Safe to use from several threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kube/api/object.h"

namespace caravan::kube {

using ObjectPtr = std::shared_ptr<const Json>;

struct Change {
  ObjectPtr before;  // null: new
  ObjectPtr after;   // null: gone
};

class Store {
 public:
  // What is not among `items` is gone: a deletion that nobody saw happens here.
  std::vector<Change> replace(JsonArray items, std::string resource_version);
  std::vector<Change> upsert(Json object);
  std::vector<Change> remove(const Json& object);
  void advance(std::string resource_version);

  ObjectPtr get(const ObjectKey& key) const;  // null when absent
  std::vector<ObjectPtr> owned_by(const std::string& controller_uid) const;
  std::vector<ObjectPtr> all() const;
  std::size_t size() const;
  // Everything up to this version has been seen.
  std::string resource_version() const;

 private:
  void put(ObjectPtr object, std::vector<Change>& changes);
  void take_out(const ObjectKey& key, std::vector<Change>& changes);
  void unindex(const ObjectPtr& object);

  mutable std::mutex mutex_;
  std::map<ObjectKey, ObjectPtr> objects_;
  std::map<std::string, std::set<ObjectKey>, std::less<>> keys_by_controller_;
  std::string resource_version_;
};

}  // namespace caravan::kube
