#include "cli/cluster/log_reader.h"

#include <cstdio>
#include <functional>
#include <utility>

#include "cli/cluster/api_errors.h"
#include "cli/cluster/job_news.h"
#include "cli/cluster/log_lines.h"
#include "cli/say.h"
#include "common/call_context.h"
#include "operator/api/job_object.h"
#include "operator/view/last_lines.h"
#include "operator/view/log_scanner.h"
#include "operator/view/pod_log.h"

namespace caravan::cli {
namespace {

using controller::ScanResult;

constexpr std::chrono::seconds kBetweenLooks{1};

class NodeLog {
 public:
  NodeLog(ApiServer& cluster, const LogQuestion& question, LogLines& lines)
      : cluster_(cluster),
        question_(question),
        lines_(lines),
        seeks_last_lines_(question.rank.has_value() && question.tail.has_value()) {}

  Status once() {
    const auto pod = look();
    if (!pod) return tl::unexpected(pod.error());
    if (!*pod) return no_pod();
    begin(**pod);
    const auto done = read_pod(/*is_whole=*/true);
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  Status follow() {
    OutageNote outage;
    while (!question_.stop.stop_requested()) {
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
        if (!done && (is_last || done.error().is_refusal())) return tl::unexpected(done.error());
        if (is_last) return pod_.empty() ? no_pod() : Status{};
      }
      cluster_.clock().sleep_until(cluster_.clock().now() + kBetweenLooks, question_.stop);
    }
    return {};
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
    if (pod_ != pod->name || uid_ != pod->uid) begin(*pod);
    if (is_read_whole_) return {};
    auto done = read_pod(pod->ended());
    if (!done && done.error().has_changed()) {
      say(stderr, "{}; it goes on with what there is\n", done.error().message);
      place_.reset();
      takes_all_ = true;
      done = read_pod(pod->ended());
    }
    is_read_whole_ = done && pod->ended();
    return done;
  }

  Status no_pod() const { return tl::unexpected(cluster_.has_no_pod(question_, state_)); }

  void begin(const controller::PodView& pod) {
    takes_all_ = !pod_.empty();
    seeks_last_lines_ = seeks_last_lines_ && !takes_all_;
    pod_ = pod.name;
    uid_ = pod.uid;
    place_.reset();
    is_read_whole_ = false;
  }

  // is_whole: nothing more is written, so that the last line may lack its end.
  ClusterResult<void> read_pod(bool is_whole) {
    if (seeks_last_lines_) {
      if (auto sought = seek_last_lines(); !sought) return sought;
    }
    controller::LogScanner scanner(question_.rank, place_);
    std::string text;
    const auto give = [&](const ScanResult<void>& scanned) {
      lines_.add(pod_, std::exchange(text, {}));
      return scanned;
    };
    auto done = read_stream(query(question_.follow),
                            [&](std::string_view chunk) { return give(scanner.take(chunk, text)); });
    if (done && is_whole) done = explain(give(scanner.end(text)));
    place_ = scanner.place();
    return done;
  }

  // The server counts the lines of all ranks together.
  ClusterResult<void> seek_last_lines() {
    controller::LastLines last(*question_.rank, *question_.tail);
    auto done =
        read_stream(query(/*follows=*/false), [&](std::string_view chunk) { return last.take(chunk); });
    if (done) done = explain(last.end());
    if (!done) return done;
    place_ = last.place();
    seeks_last_lines_ = false;
    return {};
  }

  kube::Query query(bool follows) const {
    kube::Query query = controller::log_query();
    if (follows) query.emplace_back("follow", "true");
    if (place_) query.emplace_back("sinceTime", controller::since_of(*place_));
    if (place_ || takes_all_) return query;
    if (question_.since) query.emplace_back("sinceSeconds", std::to_string(question_.since->count()));
    if (question_.tail && !question_.rank) query.emplace_back("tailLines", std::to_string(*question_.tail));
    return query;
  }

  using Take = std::function<ScanResult<void>(std::string_view chunk)>;
  ClusterResult<void> read_stream(const kube::Query& query, const Take& take) {
    const CallContext context{.stop = question_.stop};
    const auto stream = cluster_.log_of(context, pod_, query);
    if (!stream) return tl::unexpected(stream.error());
    while (true) {
      const auto chunk = (*stream)->read(context);
      if (!chunk) {
        const Trouble trouble = trouble_of(chunk.error());
        return tl::unexpected(ClusterError{{chunk.error().message, ExitCode::kClusterUnreachable}, trouble});
      }
      if (chunk->empty()) return {};
      if (auto taken = explain(take(*chunk)); !taken) return taken;
    }
  }

  ClusterResult<void> explain(const ScanResult<void>& scanned) const {
    if (scanned) return {};
    const std::string sentence = controller::sentence_of(scanned.error(), pod_);
    if (scanned.error().is_lost) return tl::unexpected(ClusterError{{sentence}, Trouble::kChanged});
    return tl::unexpected(ClusterError{{sentence, ExitCode::kClusterUnreachable}, Trouble::kOutage});
  }

  ApiServer& cluster_;
  const LogQuestion& question_;
  LogLines& lines_;
  std::string pod_ = {};
  std::string uid_ = {};  // a job that is made anew has a pod of the same name
  std::string state_ = {};
  std::optional<controller::LogPlace> place_ = {};  // in the pod's log; absent: before the first line
  bool takes_all_ = false;                          // else "since" and "tail" count, for the first pod
  bool is_read_whole_ = false;                      // the pod's log, which has ended
  bool seeks_last_lines_;
  bool is_seen_ = false;
  bool job_ended_ = false;
};

}  // namespace

Status read_log(ApiServer& cluster, const LogQuestion& question, const TakeLine& take) {
  LogLines lines(take);
  NodeLog log(cluster, question, lines);
  Status read = question.follow ? log.follow() : log.once();
  lines.finish();
  return read;
}

}  // namespace caravan::cli
