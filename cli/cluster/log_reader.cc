#include "cli/cluster/log_reader.h"

#include <fmt/format.h>

#include "cli/cluster/job_news.h"
#include "cli/cluster/pod_log.h"
#include "common/line_reader.h"
#include "operator/api/job_object.h"

namespace caravan::cli {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::chrono::seconds kBetweenLooks{1};

class NodeLog {
 public:
  NodeLog(Cluster& cluster, const LogQuestion& question, const std::function<void(std::string_view)>& take)
      : cluster_(cluster), question_(question), take_(take) {}

  Status once() {
    const auto pod = look();
    if (!pod) return tl::unexpected(pod.error());
    if (!*pod) return no_pod();
    return read((*pod)->name);
  }

  Status follow() {
    while (true) {
      const auto pod = look();
      if (!pod) return tl::unexpected(pod.error());
      if (*pod) {
        if (pod_ != (*pod)->name) begin((*pod)->name);
        // Before its container runs it has no log, and a connection may break; a right does not come by
        // itself.
        const Status done = read(pod_);
        if (!done && done.error().code == ExitCode::kJobFailed) return done;
      }
      if (job_ended_ && (!*pod || (*pod)->ended())) return {};
      cluster_.clock().sleep_until(cluster_.clock().now() + kBetweenLooks, {});
    }
  }

 private:
  Result<std::optional<controller::PodView>> look() {
    const auto job = cluster_.job(question_.job);
    if (!job) return tl::unexpected(job.error());
    const v1alpha1::JobStatus status = controller::read_job_but_spec(*job).status;
    state_ = status.state();
    job_ended_ = end_of(status).has_value();
    return cluster_.pods_of(*job).map(
        [&](const kube::JsonArray& pods) { return newest_pod(pods, question_.node); });
  }

  Status no_pod() const {
    return failure(
        fmt::format("job {} has no pod of node {} now; it is {}, and `caravan doctor {}` says more",
                    question_.job, question_.node, state_.empty() ? "new" : state_, question_.job));
  }

  void begin(const std::string& pod) {
    is_first_ = pod_.empty();
    pod_ = pod;
    last_time_.clear();
    known_until_.clear();
  }

  kube::Query query() const {
    kube::Query query{{"timestamps", "true"}};
    if (question_.follow) query.emplace_back("follow", "true");
    if (!last_time_.empty()) {
      query.emplace_back("sinceTime", last_time_.substr(0, last_time_.find('.')) + "Z");
      return query;
    }
    if (!is_first_) return query;
    if (question_.since) query.emplace_back("sinceSeconds", std::to_string(question_.since->count()));
    if (question_.tail) query.emplace_back("tailLines", std::to_string(*question_.tail));
    return query;
  }

  Status read(const std::string& pod) {
    auto stream = cluster_.log_of(pod, query());
    known_until_ = last_time_;
    if (!stream) return tl::unexpected(stream.error());
    LineReader lines(kLongestLine);
    while (true) {
      const auto chunk = (*stream)->read({});
      if (!chunk) return tl::unexpected(Error{chunk.error().message, ExitCode::kClusterUnreachable});
      lines.add(chunk->empty() ? "\n" : *chunk);  // the last line may lack its end
      for (auto line = lines.next(); !line || *line; line = lines.next()) {
        if (line) take_line(**line);
      }
      if (chunk->empty()) return {};
    }
  }

  // Times have a fixed width, so that their order is that of the texts.
  void take_line(const std::string& line) {
    const StampedLine parts = stamped(line);
    if (!known_until_.empty() && !parts.time.empty() && parts.time <= known_until_) return;
    if (!parts.time.empty()) last_time_ = parts.time;
    take_(parts.text);
  }

  Cluster& cluster_;
  const LogQuestion& question_;
  const std::function<void(std::string_view)>& take_;
  std::string pod_ = {};
  std::string state_ = {};
  std::string last_time_ = {};
  std::string known_until_ = {};  // by an earlier stream of the same pod
  bool is_first_ = true;
  bool job_ended_ = false;
};

}  // namespace

std::optional<controller::PodView> newest_pod(const kube::JsonArray& pods, int node) {
  std::optional<controller::PodView> newest;
  for (const kube::Json& object : pods) {
    controller::PodView pod = controller::read_pod(object);
    if (pod.node == node && (!newest || pod.attempt >= newest->attempt)) newest = std::move(pod);
  }
  return newest;
}

Status read_log(Cluster& cluster, const LogQuestion& question,
                const std::function<void(std::string_view)>& take) {
  NodeLog log(cluster, question, take);
  return question.follow ? log.follow() : log.once();
}

}  // namespace caravan::cli
