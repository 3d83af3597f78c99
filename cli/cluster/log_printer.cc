#include "cli/cluster/log_printer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/cluster/job_news.h"
#include "cli/cluster/mistakes.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "common/standard_stream.h"
#include "common/utf8.h"
#include "kube/api/object.h"
#include "operator/api/job_object.h"
#include "report_text/console_style.h"

namespace caravan::cli {
namespace {

// Followed at once, each with a connection of its own.
constexpr std::size_t kMostFollowed = 64;

// From several threads.
class Printer {
 public:
  // node: nothing when there is one only; so below.
  void print(std::string_view line, std::optional<int> node) {
    const std::lock_guard guard(mutex_);
    if (lost_.stop_requested()) return;
    const std::string head = node ? paint(fmt::format("[node {}] ", *node), Colour::kDim, style_) : "";
    std::fputs(fmt::format("{}{}\n", head, readable(line)).c_str(), stdout);
    if (!output_arrives()) lost_.request_stop();
  }
  void tell(Error error, std::optional<int> node) {
    const std::lock_guard guard(mutex_);
    if (lost_.stop_requested()) return;
    if (node) error.message = fmt::format("node {}: {}", *node, error.message);
    mistakes_.tell(error);
  }

  // Is requested to stop once standard output takes no more.
  std::stop_token lost() const { return lost_.get_token(); }
  ExitCode code() const { return mistakes_.code(); }

 private:
  ConsoleStyle style_ = style_for(terminal_facts(STDOUT_FILENO));
  std::mutex mutex_;
  std::stop_source lost_;
  Mistakes mistakes_;
};

Result<std::vector<int>> node_of_rank(const controller::Job& job, int rank) {
  const int devices = job.spec.resources().devices();
  if (rank < 0 || rank >= devices)
    return bad_input(fmt::format("--rank: job {} has the ranks 0 to {}", job.key.name, devices - 1));
  const int per_node = controller::ranks_per_node(job);
  if (per_node == 0)
    return bad_input(
        fmt::format("--rank: job {} is not planned yet, so no node has that rank", job.key.name));
  return std::vector{rank / per_node};
}

// Until the job is planned nobody knows them, which is waited for where its log is followed.
ClusterResult<std::vector<int>> known_nodes(Cluster& cluster, const kube::Json& job, bool follow) {
  auto nodes = cluster.node_numbers(job);
  if (!nodes || !nodes->empty() || !follow) return nodes;
  kube::Json last;
  const Status planned = cluster.follow(kube::key_of(job).name, Clock::kNever, [&](const kube::Json& now) {
    last = now;
    return planned_nodes(now).empty() && !end_of(controller::read_job_but_spec(now).status);
  });
  if (!planned) return tl::unexpected(ClusterError{planned.error()});
  return cluster.node_numbers(last);
}

Result<std::vector<int>> all_nodes(Cluster& cluster, const kube::Json& job, bool follow) {
  auto nodes = known_nodes(cluster, job, follow);
  if (!nodes) return tl::unexpected(nodes.error());
  if (nodes->empty()) return std::vector{0};
  if (follow && nodes->size() > kMostFollowed) {
    return bad_input(
        fmt::format("--all --follow: job {} has {} nodes, and {} are followed at once at most; "
                    "name one with --rank",
                    kube::key_of(job).name, nodes->size(), kMostFollowed));
  }
  return *std::move(nodes);
}

Result<std::vector<int>> nodes_asked_for(Cluster& cluster, const WantedLogs& wanted) {
  const auto object = cluster.job(wanted.question.job);
  if (!object) return tl::unexpected(object.error());
  if (wanted.question.rank) return node_of_rank(controller::read_job(*object), *wanted.question.rank);
  if (wanted.all_nodes) return all_nodes(cluster, *object, wanted.question.follow);
  return std::vector{0};
}

}  // namespace

Result<ExitCode> print_logs(Cluster& cluster, const WantedLogs& wanted) {
  const auto nodes = nodes_asked_for(cluster, wanted);
  if (!nodes) return tl::unexpected(nodes.error());
  Printer printer;
  const auto read = [&](int node) {
    LogQuestion question = wanted.question;
    question.node = node;
    question.stop = printer.lost();
    const auto shown = nodes->size() > 1 ? std::optional(node) : std::nullopt;
    const Status done =
        cluster.read_log(question, [&](std::string_view line) { printer.print(line, shown); });
    if (!done) printer.tell(done.error(), shown);
  };
  if (wanted.question.follow && nodes->size() > 1) {
    std::vector<std::jthread> threads;  // each waits for its pod
    for (const int node : *nodes) threads.emplace_back([&read, node] { read(node); });
  } else {
    for (const int node : *nodes) {
      if (printer.lost().stop_requested()) break;
      read(node);
    }
  }
  return printer.code();
}

}  // namespace caravan::cli
