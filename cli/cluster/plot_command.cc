#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/log_reader.h"
#include "cli/cluster/step_curve.h"
#include "operator/api/job_object.h"
#include "report_text/console_style.h"

namespace caravan::cli {
namespace {

struct Options {
  ClusterOptions cluster;
  std::string figure;
  std::string name;
  bool ascii = false;
};

std::optional<double> predicted_mfu(const v1alpha1::JobStatus& status) {
  const std::string& text = status.predicted().mfu_percent();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// Of the attempts whose pods are still there, which is at least the last one.
Result<std::vector<CurvePoint>> read_points(Cluster& cluster, const std::string& name, Figure figure) {
  std::vector<CurvePoint> points;
  const Status read = read_log(cluster, {.job = name}, [&](std::string_view line) {
    if (const auto point = point_of(line, figure)) points.push_back(*point);
  });
  if (!read) return tl::unexpected(read.error());
  return by_step(points);
}

Result<ExitCode> plot(const Options& options) {
  const Figure figure = options.figure == "loss" ? Figure::kLoss : Figure::kMfu;
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto object = (*cluster)->job(options.name);
  if (!object) return tl::unexpected(object.error());
  const v1alpha1::JobStatus status = controller::read_job_but_spec(*object).status;
  const auto points = read_points(**cluster, options.name, figure);
  if (!points) return tl::unexpected(points.error());
  if (points->empty()) {
    return failure(
        fmt::format("the log of job {} has no {} yet{}", options.name, options.figure,
                    figure == Figure::kMfu ? ", as where the peak of its devices is unknown" : ""));
  }
  CurveLook look{.width = output_width(), .ascii = options.ascii};
  std::string title = fmt::format("{} of job {}: {:.4g} at step {}", figure == Figure::kLoss ? "Loss" : "MFU",
                                  options.name, points->back().value, points->back().step);
  if (figure == Figure::kMfu) {
    look.unit = "%";
    look.level = predicted_mfu(status);
    if (look.level) title += fmt::format("; dotted: {}, as was predicted", *look.level);
  }
  fmt::print("{}\n{}", title, draw_curve(*points, look));
  return ExitCode::kDone;
}

}  // namespace

void add_plot_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plot", "Draws a job's loss or MFU over its steps, from the log of node 0.");
  command->add_option("FIGURE", options->figure, "Which figure")->required()->check(one_of({"loss", "mfu"}));
  add_job_argument(*command, options->name);
  command->add_flag("--ascii", options->ascii, "Without characters of Braille");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return plot(*options); }; });
}

}  // namespace caravan::cli
