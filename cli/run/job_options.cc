#include "cli/run/job_options.h"

namespace caravan::cli {

void declare_job_options(CLI::App& command, RunOptions& options) {
  command.add_option("FILE", options.job_file, "Job file, YAML or JSON; - is standard input")->required();
  command
      .add_option("--nodes", options.nodes,
                  "Agents to start, as so many pods would; default: as spec.resources says")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  command.add_option("--volume", options.volumes, "Folder that stands in for a PersistentVolumeClaim")
      ->type_name("CLAIM=DIR")
      ->allow_extra_args(false);
  command
      .add_option(
          "--device-catalogue", options.device_catalogue,
          "How fast this machine's processor is, a YAML file as of caravan plan: with it, a job whose "
          "spec.resources.device.product is in the file has a predicted time and MFU")
      ->type_name("FILE");
  command.add_option("--set", options.sets, "Overrule a field of the file, such as spec.training.steps=100")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--work-directory", options.work_directory,
                  "Keep plan and logs here; default: a temporary folder, which stays only when the job fails")
      ->type_name("DIR");
}

}  // namespace caravan::cli
