#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/diagnosis.h"
#include "cli/cluster/job_facts.h"
#include "cli/terminal.h"
#include "common/json.h"
#include "planner/explain/table.h"
#include "report_text/console_style.h"

namespace caravan::cli {
namespace {

struct DoctorOptions {
  ClusterOptions cluster;
  std::string name;
  std::string output = "text";
};

Result<ClusterFacts> gather(Cluster& cluster, const std::string& name) {
  const auto object = cluster.job(name);
  if (!object) return tl::unexpected(object.error());
  ClusterFacts facts{.job = read_facts(cluster, *object), .context = cluster.context()};
  if (const auto quotas = readable_part(cluster.quotas(facts.job.job.key.name_space), "quotas")) {
    for (const kube::Json& quota : *quotas) {
      for (QuotaView& view : read_quota(quota)) facts.quotas.push_back(std::move(view));
    }
  }
  if (const auto nodes = readable_part(cluster.nodes(), "nodes")) {
    facts.nodes.emplace();
    for (const kube::Json& node : *nodes) facts.nodes->push_back(controller::read_node(node));
  }
  return facts;
}

const char* word_of(Gravity gravity) {
  return gravity == Gravity::kGood ? "good" : gravity == Gravity::kNotice ? "notice" : "problem";
}

void print_text(const std::string& name, const std::vector<Finding>& findings) {
  const ConsoleStyle style = style_for(terminal_facts(STDOUT_FILENO));
  const int width = output_width();
  fmt::print("Job {}\n", name);
  for (const Finding& finding : findings) {
    const Colour colour = finding.gravity == Gravity::kGood     ? Colour::kGreen
                          : finding.gravity == Gravity::kNotice ? Colour::kYellow
                                                                : Colour::kRed;
    fmt::print("\n{}\n{}", paint(word_of(finding.gravity), colour, style),
               planner::paragraph(finding.what, width));
    if (!finding.advice.empty()) fmt::print("{}", planner::paragraph("What to do: " + finding.advice, width));
  }
}

void print_json(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    fmt::print("{{\"gravity\":{},\"what\":{},\"advice\":{}}}\n", json_string(word_of(finding.gravity)),
               json_string(finding.what), json_string(finding.advice));
  }
}

Result<ExitCode> run(const DoctorOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto facts = gather(**cluster, options.name);
  if (!facts) return tl::unexpected(facts.error());
  const std::vector<Finding> findings = diagnose(*facts);
  if (options.output == "json") {
    print_json(findings);
  } else {
    print_text(options.name, findings);
  }
  const bool is_ill = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.gravity == Gravity::kProblem; });
  return is_ill ? ExitCode::kJobFailed : ExitCode::kDone;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand("doctor",
                                         "Why a job does not run, or not well, and what to do about it.\n"
                                         "Ends with 1 where it finds a problem.");
  add_job_argument(*command, options->name);
  add_output_option(*command, options->output, {"text", "json"}, "Text, or a line for each finding");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
