// All jobs as this service's own watch has them, and who wants to hear of changes.
//
// The last changes are kept, so that a reader who was away for a moment goes on where he was, on another
// replica too: versions are the API server's. A change may be told twice after that, and none is left out.
// Where this copy was listed anew, several changes have one version, which another replica heard of one by
// one: only the last of them may be gone on from. And what came and went before the list was never seen here,
// so whoever was in the middle of that begins again.
// Safe for any thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job_service.pb.h"
#include "kube/watch/store.h"
#include "service/answer/fault.h"

namespace caravan::service {

// A job as this API shows it, and what lists are filtered and ordered by.
struct JobEntry {
  kube::ObjectPtr object;
  std::string message = {};  // a v1alpha1::Job, serialized: made once, whoever reads it
  std::string created = {};  // RFC 3339
  std::string state = {};
  bool has_ended = false;
  std::string user = {};  // who created it, as far as it says
  std::map<std::string, std::string> labels = {};
};
using EntryPtr = std::shared_ptr<const JobEntry>;

JobEntry entry_of(const kube::ObjectPtr& object);
v1alpha1::Job job_of(const JobEntry& entry);

struct JobChange {
  EntryPtr before;  // null: new
  EntryPtr after;   // null: gone
  std::string version;
  std::string token;  // the version that a reader has seen all changes of, once he has heard of this one
};
using ChangePtr = std::shared_ptr<const JobChange>;

// What is kept of a job: all that is shown, and of annotations none that is long.
std::optional<kube::Json> shown_of_job(const kube::Json& object);

class JobFeed {
 public:
  static constexpr std::size_t kKeptChanges = 2048;
  static constexpr std::size_t kKeptGaps = 64;
  static constexpr std::size_t kKeptBytes = std::size_t{16} << 20;

  class Listener {
   public:
    virtual ~Listener() = default;
    // In the order of the changes, by the informer's thread: must not block.
    virtual void on_change(const ChangePtr& change) = 0;
  };

  // What a listener has to hear before the changes that it is told of.
  struct Opening {
    std::vector<EntryPtr> present = {};  // of one who begins
    std::vector<ChangePtr> missed = {};  // of one who goes on
    std::string version = {};            // that this stands for
  };

  struct Versions {
    std::string seen;      // that the copy of the API server's jobs has
    std::string reported;  // whose changes have all been taken
  };

  // name_space: whose jobs these are; empty: of all.
  explicit JobFeed(std::function<Versions()> versions, std::string name_space = {})
      : versions_(std::move(versions)), name_space_(std::move(name_space)) {}

  // Of the informer: its copy was of the one version, empty at first, and is now of the other.
  void listed(const std::string& before, const std::string& now);
  // And after that, or an event, each change of it.
  void take(const kube::Change& change);

  // FAILED_PRECONDITION where jobs of that namespace are none of these, whether there are any or not.
  Answer<void> has_jobs_of(const std::string& name_space) const;
  // Changes of later versions follow.
  std::string version() const;

  EntryPtr get(const kube::ObjectKey& key) const;
  std::vector<EntryPtr> all(const std::string& name_space) const;  // empty: of all namespaces

  // resume_token: a version; empty: from the beginning. OUT_OF_RANGE: what came after it is not kept any
  // more. Whoever is gone is not called any more.
  Answer<Opening> open(const std::shared_ptr<Listener>& listener, const std::string& name_space,
                       const std::string& resume_token);

 private:
  std::vector<EntryPtr> entries_of(const std::string& name_space) const;
  void begin_again_if_older(const std::string& version);
  ChangePtr note(const kube::ObjectKey& key, JobChange change);

  struct Gap {  // of versions that this copy has not been of
    std::string after;
    std::string before;
  };

  bool is_in_a_gap(const std::string& version) const;

  const std::function<Versions()> versions_;
  const std::string name_space_;
  mutable std::mutex mutex_;
  std::map<kube::ObjectKey, EntryPtr> entries_;
  std::deque<ChangePtr> changes_;
  std::size_t kept_bytes_ = 0;
  std::deque<Gap> gaps_;
  std::string first_version_;  // that this copy has seen
  std::string lost_version_;   // of the last change that is not kept any more; empty: all are
  std::vector<std::weak_ptr<Listener>> listeners_;
};

}  // namespace caravan::service
