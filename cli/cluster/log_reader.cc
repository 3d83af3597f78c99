#include "cli/cluster/log_reader.h"

#include <fmt/format.h>

#include <deque>

#include "cli/cluster/api_errors.h"
#include "cli/cluster/job_news.h"
#include "common/line_reader.h"
#include "operator/api/job_object.h"
#include "operator/view/pod_log.h"

namespace caravan::cli {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::chrono::seconds kBetweenLooks{1};

class NodeLog {
 public:
  NodeLog(ApiServer& cluster, const LogQuestion& question, const TakeLine& take)
      : cluster_(cluster),
        question_(question),
        take_(take),
        holds_back_(question.rank.has_value() && question.tail.has_value()) {}

  Status once() {
    const auto pod = look();
    if (!pod) return tl::unexpected(pod.error());
    if (!*pod) return no_pod();
    const auto stream = open((*pod)->name);
    if (!stream) return tl::unexpected(stream.error());
    const auto done = read(**stream);
    let_go();
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  Status follow() {
    OutageNote outage;
    while (true) {
      const auto pod = look();
      if (!pod) {
        if (is_seen_ && pod.error().is_not_found()) return tl::unexpected(was_deleted(question_.job));
        if (!is_seen_ || !pod.error().is_outage()) return tl::unexpected(pod.error());
        outage.failed(pod.error());
      } else {
        outage.answered();
        is_seen_ = true;
        const auto done = follow_pod(*pod);
        const bool is_last = job_ended_ && (!*pod || (*pod)->ended());
        if (is_last) let_go();
        if (!done && (is_last || done.error().is_refusal())) return tl::unexpected(done.error());
        if (is_last) return pod_.empty() ? no_pod() : Status{};
      }
      cluster_.clock().sleep_until(cluster_.clock().now() + kBetweenLooks, {});
    }
  }

 private:
  ClusterResult<std::optional<controller::PodView>> look() {
    const auto job = cluster_.job(question_.job);
    if (!job) return tl::unexpected(job.error());
    const v1alpha1::JobStatus status = controller::read_job_but_spec(*job).status;
    state_ = status.state();
    job_ended_ = end_of(status).has_value();
    return cluster_.pods_of(*job, question_.node).map([&](const kube::JsonArray& pods) {
      return controller::newest_pod(pods, question_.node);
    });
  }

  // Before its container runs a pod has no log, its machine may not answer, and a connection may break: all
  // of that is tried again while the job goes on. A right does not come by itself.
  ClusterResult<void> follow_pod(const std::optional<controller::PodView>& pod) {
    if (!pod) return {};
    if (pod_ != pod->name) begin(pod->name);
    const auto stream = open(pod_);
    if (!stream) return tl::unexpected(stream.error());
    auto done = read(**stream);
    if (done) let_go();
    return done;
  }

  Status no_pod() const { return tl::unexpected(has_no_pod(question_, state_)); }

  void begin(const std::string& pod) {
    is_first_ = pod_.empty();
    pod_ = pod;
    last_time_.clear();
    known_until_.clear();
  }

  // While lines are held back the stream has to end, to tell which are the last.
  kube::Query query() const {
    kube::Query query = controller::log_query();
    if (question_.follow && !holds_back_) query.emplace_back("follow", "true");
    if (!last_time_.empty()) {
      query.emplace_back("sinceTime", controller::in_whole_seconds(last_time_));
      return query;
    }
    if (!is_first_) return query;
    if (question_.since) query.emplace_back("sinceSeconds", std::to_string(question_.since->count()));
    if (question_.tail && !question_.rank) query.emplace_back("tailLines", std::to_string(*question_.tail));
    return query;
  }

  ClusterResult<std::unique_ptr<kube::HttpStream>> open(const std::string& pod) {
    known_until_ = last_time_;
    return cluster_.log_of(pod, query());
  }

  ClusterResult<void> read(kube::HttpStream& stream) {
    LineReader lines(kLongestLine);
    while (true) {
      const auto chunk = stream.read({});
      if (!chunk) {
        const Trouble trouble = trouble_of(chunk.error());
        return tl::unexpected(ClusterError{{chunk.error().message, ExitCode::kClusterUnreachable}, trouble});
      }
      lines.add(chunk->empty() ? "\n" : *chunk);  // the last line may lack its end
      for (auto line = lines.next(); !line || *line; line = lines.next()) {
        if (line) take_line(**line);
      }
      if (chunk->empty()) return {};
    }
  }

  // Times have a fixed width, so that their order is that of the texts.
  void take_line(const std::string& line) {
    const controller::StampedLine parts = controller::stamped(line);
    if (!known_until_.empty() && !parts.time.empty() && parts.time <= known_until_) return;
    if (!parts.time.empty()) last_time_ = parts.time;
    const auto text =
        question_.rank ? controller::text_of_rank(parts.text, *question_.rank) : std::optional(parts.text);
    if (!text) return;
    if (!holds_back_) return take_(*text);
    held_.emplace_back(*text);
    if (held_.size() > static_cast<std::size_t>(*question_.tail)) held_.pop_front();
  }

  // What was there at the beginning has been read: the server counts the lines of all ranks together, so that
  // the last ones of a rank are found here.
  void let_go() {
    for (const std::string& text : held_) take_(text);
    held_.clear();
    holds_back_ = false;
  }

  ApiServer& cluster_;
  const LogQuestion& question_;
  const TakeLine& take_;
  std::string pod_ = {};
  std::string state_ = {};
  std::string last_time_ = {};
  std::string known_until_ = {};  // by an earlier stream of the same pod
  bool is_first_ = true;
  bool is_seen_ = false;
  bool holds_back_;
  std::deque<std::string> held_ = {};
  bool job_ended_ = false;
};

}  // namespace

Status read_log(ApiServer& cluster, const LogQuestion& question, const TakeLine& take) {
  NodeLog log(cluster, question, take);
  return question.follow ? log.follow() : log.once();
}

}  // namespace caravan::cli
