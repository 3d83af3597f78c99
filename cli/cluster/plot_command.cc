#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/step_curve.h"
#include "cli/terminal.h"
#include "operator/api/job_object.h"

namespace caravan::cli {
namespace {

struct PlotOptions {
  ClusterOptions cluster;
  std::string figure;
  std::string name;
  bool ascii = false;
};

Error no_points(const PlotOptions& options, const Curve& curve, Figure figure) {
  const std::string about = fmt::format("{} has no {}", curve.source, options.figure);
  if (curve.left_out > 0)
    return {fmt::format("{} that can be drawn; it begins with {}", about, curve.first_left_out)};
  return {fmt::format("{} yet{}", about,
                      figure == Figure::kMfu ? ", as where the peak of its devices is unknown" : "")};
}

Result<ExitCode> plot(const PlotOptions& options) {
  const Figure figure = options.figure == "loss" ? Figure::kLoss : Figure::kMfu;
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto object = (*cluster)->job(options.name);
  if (!object) return tl::unexpected(object.error());
  const v1alpha1::JobStatus status = controller::read_job_but_spec(*object).status;
  const auto curve = (*cluster)->curve_of(options.name, figure);
  if (!curve) return tl::unexpected(curve.error());
  const std::vector<CurvePoint>& points = curve->points;
  if (points.empty()) return tl::unexpected(no_points(options, *curve, figure));
  if (curve->left_out > 0) {
    fmt::print(stderr, "warning: of {}, what cannot be drawn is left out: {} steps, the first is {}\n",
               curve->source, curve->left_out, curve->first_left_out);
  }
  CurveLook look{.width = output_width(), .ascii = options.ascii};
  std::string title = fmt::format("{} of job {}: {:.4g} at step {}", figure == Figure::kLoss ? "Loss" : "MFU",
                                  options.name, points.back().value, points.back().step);
  if (figure == Figure::kMfu) {
    look.unit = " %";
    look.level = drawable(status.predicted().mfu_percent());
    if (look.level) title += fmt::format("; dotted: {}, as was predicted", *look.level);
  }
  fmt::print("{}\n{}", title, draw_curve(points, look));
  return ExitCode::kDone;
}

}  // namespace

void add_plot_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App* command =
      app.add_subcommand("plot", "Draws a job's loss or MFU over its steps, from the log of node 0.");
  command->add_option("FIGURE", options->figure, "Which figure")->required()->check(one_of({"loss", "mfu"}));
  add_job_argument(*command, options->name);
  command->add_flag("--ascii", options->ascii, "Without characters of Braille");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return plot(*options); }; });
}

}  // namespace caravan::cli
