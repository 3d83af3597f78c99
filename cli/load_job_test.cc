#include "cli/load_job.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/schema/field_rules.h"
#include "common/testing/checkout.h"
#include "common/testing/job_text.h"
#include "planner/model/presets.h"
#include "planner/schedule/schedule.h"

namespace caravan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

const std::string kJob = test::job_text();

LoadedJob load(const std::string& text, const std::vector<std::string>& sets = {}) {
  Result<LoadedJob> loaded = parse_job(text, "job.yaml", sets);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded.value_or(LoadedJob{});
}

std::string mistakes_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Result<LoadedJob> loaded = parse_job(text, "job.yaml", sets);
  if (loaded) return "valid";
  EXPECT_EQ(loaded.error().code, ExitCode::kBadInput);
  return loaded.error().message;
}

std::string corpus_file(const std::string& name) {
  std::ifstream file(std::filesystem::path(test::source_folder()) / "tests/corpus/job_loader" / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LoadJob, TakesTheSchedulesThatTheTrainerRunsAndNoOther) {
  for (const planner::ScheduleKind kind : planner::all_schedule_kinds()) {
    const std::string set = "spec.parallelism.schedule=" + std::string(planner::schedule_name(kind));
    EXPECT_EQ(parse_job(kJob, "job.yaml", {set}).has_value(), planner::may_be_asked_for(kind)) << set;
  }
}

TEST(LoadJob, AppliesDefaults) {
  const LoadedJob loaded = load(kJob);
  const auto& spec = loaded.job.spec();
  EXPECT_EQ(spec.training().precision(), v1alpha1::Precision::BF16);
  EXPECT_EQ(spec.training().optimizer().learning_rate(), "3e-4");
  EXPECT_EQ(spec.resources().device().kind(), v1alpha1::Device::GPU);
  EXPECT_EQ(spec.parallelism().mode(), v1alpha1::Parallelism::Auto);
  EXPECT_EQ(spec.failure_policy().max_restarts(), 10);
  EXPECT_FALSE(spec.parallelism().has_tensor());
  EXPECT_FALSE(spec.has_checkpoint());
  EXPECT_THAT(loaded.notes, IsEmpty());
  EXPECT_THAT(loaded.cluster_only, IsEmpty()) << "a default was not given by anybody";
}

TEST(LoadJob, OverridesReplaceAndCreateFields) {
  const LoadedJob loaded = load(
      kJob, {"spec.training.steps=7", "spec.resources.device.kind=CPU", "spec.parallelism.pipeline=2",
             "spec.parallelism.layersPerStage=[3, 1]", "spec.training.steps=8", "spec.data.path=a=b.bin"});
  EXPECT_EQ(loaded.job.spec().training().steps(), 8) << "the last one counts";
  EXPECT_EQ(loaded.job.spec().resources().device().kind(), v1alpha1::Device::CPU);
  EXPECT_THAT(loaded.job.spec().parallelism().layers_per_stage(), ElementsAre(3, 1));
  EXPECT_EQ(loaded.job.spec().data().path(), "a=b.bin");
}

TEST(LoadJob, AnOverrideOfNullRemovesAFieldOrASection) {
  const std::string job = kJob + "  checkpoint: {path: kept}\n  parallelism: {tensor: 2, data: 2}\n";
  const LoadedJob loaded = load(job, {"spec.checkpoint=null", "spec.parallelism.tensor=~"});
  EXPECT_FALSE(loaded.job.spec().has_checkpoint());
  EXPECT_FALSE(loaded.job.spec().parallelism().has_tensor());
  EXPECT_EQ(loaded.job.spec().parallelism().data(), 2);
  EXPECT_FALSE(load(kJob, {"spec.checkpoint.path=null"}).job.spec().has_checkpoint()) << "nothing is made";
  EXPECT_TRUE(load(job, {"spec.checkpoint=null", "spec.checkpoint.path=x"}).job.spec().has_checkpoint());
  EXPECT_THAT(mistakes_of(job, {"spec.data=null"}), HasSubstr("spec.data: is required"));
  EXPECT_EQ(mistakes_of(job, {"spec.chekpoint=null"}),
            "--set: spec.chekpoint: there is no such field to remove");
  EXPECT_EQ(mistakes_of(job, {"spec.worker.env.name=null"}),
            "--set: spec.worker.env.name: there is no such field to remove")
      << "of which entry";
  EXPECT_EQ(mistakes_of(job, {"spec.suspend.x=null"}),
            "--set: spec.suspend.x: there is no such field to remove");
}

// Labels of queues and zones have dots and slashes in their names.
TEST(LoadJob, AnOverrideReachesEachEntryOfAMap) {
  const std::string queue = "kueue.x-k8s.io/queue-name";
  const LoadedJob loaded = load(kJob, {"metadata.labels." + queue + "=team-a",
                                       "spec.worker.nodeSelector.topology.kubernetes.io/zone=z1"});
  EXPECT_EQ(loaded.job.metadata().labels().at(queue), "team-a");
  EXPECT_EQ(loaded.job.spec().worker().node_selector().at("topology.kubernetes.io/zone"), "z1");
  const LoadedJob without =
      load(kJob, {"metadata.labels." + queue + "=team-a", "metadata.labels." + queue + "=null"});
  EXPECT_EQ(without.job.metadata().labels_size(), 0);
}

TEST(LoadJob, ADecimalOfTheCommandLineNeedsNoQuotes) {
  EXPECT_THAT(load(kJob, {"spec.training.optimizer.learningRate=1e-3"}).notes, IsEmpty());
  EXPECT_THAT(mistakes_of(kJob, {"spec.training.optimizer.weightDecay=yes"}), Not(HasSubstr("quotes")));
}

TEST(LoadJob, AnOverrideMendsTheFile) {
  std::string broken = kJob;
  broken.replace(broken.find("steps: 100"), 10, "steps: 0  ");
  EXPECT_THAT(mistakes_of(broken), HasSubstr("job.yaml:7: spec.training.steps"));
  EXPECT_EQ(mistakes_of(broken, {"spec.training.steps=1"}), "valid");
}

TEST(LoadJob, ReportsAllMistakesInTheOrderOfTheFile) {
  EXPECT_EQ(mistakes_of("kind: LlamaTrainingJob\n"
                        "spec:\n"
                        "  training: {steps: 0, sequenceLength: x, globalBatchSequences: 8}\n"
                        "  resources: {devices: 1}\n"
                        "  data: {path: tokens.bin}\n"
                        "  model: {preset: llama-tiny}\n"
                        "  oops: 1\n"
                        "metadata: {name: demo}\n",
                        {"spec.training.seed=-1"}),
            "--set: spec.training.seed: expected a whole number from 0 to 2147483647, got -1\n"
            "job.yaml:1: apiVersion: is required: training.caravan.dev/v1alpha1\n"
            "job.yaml:3: spec.training.steps: expected a whole number from 1 to 2000000000, got 0\n"
            "job.yaml:3: spec.training.sequenceLength: expected a whole number from 1 to 4194304, got \"x\"\n"
            "job.yaml:7: spec.oops: unknown field; the fields here are model, data, training, resources, "
            "parallelism, "
            "checkpoint, worker, scheduling, failurePolicy, stallTimeoutSeconds, activeDeadlineSeconds, "
            "ttlSecondsAfterFinished, suspend, managedBy, logEverySeconds");
}

TEST(LoadJob, AMistakeHasNoEchoes) {
  const std::string job = kJob;
  EXPECT_EQ(mistakes_of(job + "  parallelism: {tensor: two, pipeline: 2, data: 2}\n"),
            "job.yaml:9: spec.parallelism.tensor: expected a whole number from 1 to 16, got \"two\"");
  EXPECT_EQ(mistakes_of(job + "  parallelism: {mode: Manual, tensr: 2, pipeline: 2, data: 1}\n"),
            "job.yaml:9: spec.parallelism.tensr: unknown field; did you mean tensor?");
}

TEST(LoadJob, ASectionThatShouldNotBeThereIsNotAskedForItsFields) {
  std::string job = kJob;
  job.replace(job.find("llama-tiny}"), 11, "llama-tiny, architecture: {}}");
  EXPECT_EQ(mistakes_of(job),
            "job.yaml:5: spec.model: exactly one of preset and architecture must be set, or none beside an "
            "initFrom; preset is \"llama-tiny\"");
  EXPECT_THAT(mistakes_of(job, {"spec.model.preset=null"}),
              HasSubstr("job.yaml:5: spec.model.architecture.hiddenSize: is required"));
}

TEST(LoadJob, AHundredMistakesAreShownAndTheRestCounted) {
  std::string job = kJob;
  for (int i = 0; i < 150; ++i) job += "  zz" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(mistakes_of(job), HasSubstr("\njob.yaml: 50 more mistakes"));
}

TEST(LoadJob, NamesTheGivenFieldsThatMatterOnAClusterOnly) {
  EXPECT_THAT(load(kJob + "  worker: {image: x}\n  suspend: false\n").cluster_only,
              ElementsAre("spec.worker", "spec.suspend"));
}

TEST(LoadJob, TakesWhatKubectlGetPrints) {
  const LoadedJob loaded = load(corpus_file("from_the_server.yaml"));
  EXPECT_EQ(loaded.job.metadata().name(), "demo");
  EXPECT_FALSE(loaded.job.has_status());
  EXPECT_THAT(loaded.notes,
              ElementsAre("job.yaml:7: metadata.creationTimestamp: written by the API server; ignored",
                          "job.yaml:8: metadata.generation: written by the API server; ignored",
                          "job.yaml:9: metadata.managedFields: written by the API server; ignored",
                          "job.yaml:18: metadata.resourceVersion: written by the API server; ignored",
                          "job.yaml:19: metadata.uid: written by the API server; ignored",
                          "job.yaml:31: status: written by the API server; ignored"));
}

// ObjectMeta of k8s.io/apimachinery, all of it.
TEST(LoadJob, TakesEveryStandardFieldOfMetadata) {
  const LoadedJob loaded = load(R"(apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata:
  name: demo
  generateName: demo-
  namespace: 7-team
  labels: {a: b}
  annotations: {a: b}
  selfLink: /apis
  uid: u
  resourceVersion: "1"
  generation: 1
  creationTimestamp: null
  deletionTimestamp: null
  deletionGracePeriodSeconds: 30
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]
  finalizers: [example.com/f]
  managedFields: []
spec:
  model: {preset: llama-tiny}
  data: {path: tokens.bin}
  training: {steps: 100, sequenceLength: 128, globalBatchSequences: 8}
  resources: {devices: 4}
)");
  EXPECT_EQ(loaded.job.metadata().name(), "demo");
  EXPECT_EQ(loaded.notes.size(), 10U) << "each that the API server writes";
}

TEST(LoadJob, MakesANameFromItsBeginning) {
  const auto begins_with = [](const std::string& start) {
    std::string job = kJob;
    return job.replace(job.find("name: demo"), 10, "generateName: " + start);
  };
  const LoadedJob loaded = load(begins_with("demo-"));
  EXPECT_EQ(loaded.job.metadata().name(), "demo");
  EXPECT_THAT(loaded.notes,
              ElementsAre("job.yaml:3: metadata.generateName: the job is named demo; the API server would "
                          "add five characters"));
  EXPECT_EQ(mistakes_of(begins_with("Demo-")),
            "job.yaml:3: metadata.generateName: generateName must be the beginning of a name: lower case "
            "letters, digits and '-', a letter first; generateName is \"Demo-\"");
  EXPECT_THAT(mistakes_of(begins_with(std::string(47, 'a'))), HasSubstr("at most 46"));
}

TEST(LoadJob, ItsOwnJsonLoadsToTheSameJob) {
  for (const char* name : {"everything.yaml", "job.json"}) {
    const std::string json = to_json(load(corpus_file(name)).job, JsonLayout::kIndented);
    EXPECT_EQ(to_json(load(json).job, JsonLayout::kIndented), json) << name;
  }
}

TEST(LoadJob, KnowsEveryPresetOfThePlannerAndNoOther) {
  const auto* preset = v1alpha1::Model::descriptor()->FindFieldByName("preset");
  const auto& names = schema::rules_of(*preset).one_of();
  EXPECT_THAT(std::vector<std::string>(names.begin(), names.end()),
              UnorderedElementsAreArray(planner::preset_names()));
}

}  // namespace
}  // namespace caravan::cli
