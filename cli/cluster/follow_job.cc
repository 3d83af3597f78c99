#include "cli/cluster/follow_job.h"

#include <fmt/format.h>

#include "cli/cluster/job_news.h"
#include "cli/say.h"
#include "common/standard_stream.h"
#include "operator/api/job_conditions.h"
#include "operator/api/job_object.h"

namespace caravan::cli {
namespace {

class Follower {
 public:
  explicit Follower(const Awaited& awaited) : awaited_(awaited) {}

  // Whether to go on.
  bool see(const kube::Json& object) {
    const v1alpha1::JobStatus status = controller::read_job_but_spec(object).status;
    if (!awaited_.quiet) {
      for (const std::string& line : news_of(before_, status)) say(awaited_.news, "{}\n", line);
      is_lost_ = !output_arrives();
    }
    before_ = status;
    reached_ = !awaited_.condition.empty() && controller::is_true(status, awaited_.condition);
    return !is_lost_ && !reached_ && !end_of(status);
  }

  Result<ExitCode> outcome(const std::string& name) const {
    const std::string end = words_of_end(before_);
    if (reached_ || is_lost_) return ExitCode::kDone;
    if (!awaited_.condition.empty()) {
      return failure(fmt::format("job {} ended before it was {} ({})", name, awaited_.condition, end));
    }
    const ExitCode code = *end_of(before_);
    if (code != ExitCode::kDone)
      return tl::unexpected(Error{fmt::format("job {} failed: {}", name, end), code});
    if (awaited_.quiet) say("job {} is complete: {}\n", name, end);
    return code;
  }

  const v1alpha1::JobStatus& last() const { return before_; }

 private:
  const Awaited& awaited_;
  v1alpha1::JobStatus before_;
  bool reached_ = false;
  bool is_lost_ = false;
};

}  // namespace

Result<ExitCode> follow_job(Cluster& cluster, const std::string& name, const Awaited& awaited) {
  const Clock::TimePoint deadline =
      awaited.timeout ? cluster.clock().now() + *awaited.timeout : Clock::kNever;
  Follower follower(awaited);
  const Status followed =
      cluster.follow(name, deadline, [&](const kube::Json& object) { return follower.see(object); });
  if (followed) return follower.outcome(name);
  if (followed.error().code != kTimedOut) return tl::unexpected(followed.error());
  const std::string state = follower.last().state();
  return tl::unexpected(
      Error{fmt::format("job {0} is {1} after {2} s; `caravan doctor {0}{3}` says what it waits for", name,
                        state.empty() ? "not seen by an operator yet" : state, awaited.timeout->count(),
                        cluster.place()),
            kTimedOut});
}

}  // namespace caravan::cli
