// A small program's arguments, as users get them wrong.
#include <gmock/gmock.h>

#include <sstream>

#include "cli/arguments/choice.h"
#include "cli/arguments/device_option.h"
#include "cli/arguments/help_formatter.h"
#include "cli/arguments/shell_words.h"
#include "common/arguments/number_between.h"
#include "common/arguments/unknown_argument.h"

namespace caravan::cli {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Arguments : public testing::Test {
 protected:
  Arguments() {
    CLI::App& paint = *program_.add_subcommand("paint", "Paints a wall in one of a few colours, evenly.");
    paint.add_option("WALL", wall_, "Which wall");
    paint.add_option("--colour", colour_, "Which colour")->check(one_of({"red", "green"}));
    paint.add_flag("--frame{oak}", frame_, "Which frame");
    paint.add_flag("--gloss", gloss_, "Whether it shines");
    paint.add_option("--litres", litres_, "How much")->check(NumberBetween(0, 2.5));
    paint.add_option("--layers", layers_, "How many")->check(CLI::Range(1, 9));
    CLI::App& tools = *program_.add_subcommand("tools", "Looks after tools.");
    tools.require_subcommand(0, 1);
    tools.add_subcommand("clean", "Cleans them.");
    tools.add_subcommand("list", "Lists them.");
  }

  // What is wrong with the arguments; empty: nothing.
  std::string mistake(const std::string& arguments) {
    try {
      program_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return unknown_argument(program_).value_or(error.what());
    }
    return "";
  }

  CLI::App program_{"A test.", "house"};
  std::string wall_;
  std::string colour_;
  int layers_ = 1;
  double litres_ = 1;
  std::string frame_;
  bool gloss_ = false;
};

TEST_F(Arguments, ThatNoCommandKnowsAreNamedWithWhatWasMeant) {
  EXPECT_EQ(mistake("pant north"), R"(house has no command "pant"; did you mean paint?)");
  EXPECT_EQ(mistake("swim"), R"(house has no command "swim"; its commands are paint, tools)");
  EXPECT_EQ(mistake("tools lst"), R"(house tools has no command "lst"; did you mean list?)");
  EXPECT_EQ(mistake("paint --color red"), R"(house paint has no option "--color"; did you mean --colour?)");
  EXPECT_EQ(mistake("paint --color=red"), R"(house paint has no option "--color"; did you mean --colour?)");
  EXPECT_EQ(mistake("--loud paint"), R"(house has no option "--loud")");
  EXPECT_EQ(mistake("paint north south"), R"(house paint: "south" is one argument too many)");
  EXPECT_EQ(mistake("paint north --colour red"), "");
}

TEST_F(Arguments, ThatAreNoChoiceAreRefusedWithTheNearestOne) {
  EXPECT_EQ(mistake("paint --colour gren"),
            R"(--colour: expected one of red, green, got "gren"; did you mean green?)");
  EXPECT_EQ(mistake("paint --colour violet"), R"(--colour: expected one of red, green, got "violet")");
}

TEST_F(Arguments, ThatAreNumbersLieWithinTheirBounds) {
  for (const char* inside : {"0", "1e-3", "2.5"})
    EXPECT_EQ(mistake(std::string("paint --litres ") + inside), "") << inside;
  for (const char* outside : {"-0.1", "2.6", "nan", "inf", "much"})
    EXPECT_EQ(mistake(std::string("paint --litres ") + outside),
              "--litres: Value " + std::string(outside) + " not in range [0 - 2.5]");
}

TEST_F(Arguments, TellTheirChoices) {
  const CLI::App& paint = *program_.get_subcommand("paint");
  EXPECT_THAT(choices_of(*paint.get_option("--colour")), ElementsAre("red", "green"));
  EXPECT_THAT(choices_of(*paint.get_option("--layers")), IsEmpty());
  EXPECT_THAT(choices_of(*paint.get_option("WALL")), IsEmpty());
}

TEST_F(Arguments, TellFlagsFromOptionsThatTakeAValue) {
  const CLI::App& paint = *program_.get_subcommand("paint");
  EXPECT_TRUE(is_flag(*paint.get_option("--gloss")));
  EXPECT_TRUE(is_flag(*paint.get_option("--help")));
  EXPECT_FALSE(is_flag(*paint.get_option("--colour")));
  EXPECT_FALSE(is_flag(*paint.get_option("WALL")));
}

TEST_F(Arguments, AreExplainedWithinTheWidth) {
  program_.formatter(std::make_shared<HelpFormatter>(60));
  CLI::App& paint = *program_.get_subcommand("paint");
  paint.formatter(program_.get_formatter());
  program_.footer(
      "What stands below all that, such as exit codes, of which there are a few, in more than one line.");
  const std::string help = program_.help() + paint.help();
  std::vector<std::string> lines;
  std::istringstream stream(help);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  EXPECT_THAT(lines, Each(testing::ResultOf([](const auto& line) { return line.size(); }, testing::Le(60U))));
  EXPECT_THAT(help, HasSubstr("Which colour (red, green)"));
  EXPECT_THAT(help, HasSubstr("How many [1-9]"));
  EXPECT_THAT(help, HasSubstr("How much [0-2.5]"));
  EXPECT_THAT(help, HasSubstr("What stands below all that"));
  EXPECT_THAT(help, Not(HasSubstr("{")));
}

TEST_F(Arguments, ThatMayComeSeveralTimesSaySo) {
  CLI::App& tools = *program_.get_subcommand("tools");
  std::vector<std::string> names;
  tools.add_option("--helper", names, "Who helps")->allow_extra_args(false);
  tools.add_option("--rags", names, "With which rags");
  tools.add_option("--sizes", names, "How large")->delimiter(',')->allow_extra_args(false);
  tools.add_option("TOOL", names, "Which tool")->required()->expected(1, 9);
  tools.formatter(std::make_shared<HelpFormatter>(80));
  const std::string help = tools.help();
  EXPECT_THAT(help, HasSubstr("--helper TEXT  "));
  EXPECT_THAT(help, HasSubstr("Who helps; repeat it for more\n"));
  EXPECT_THAT(help, HasSubstr("--rags TEXT ...  "));
  EXPECT_THAT(help, HasSubstr("With which rags\n"));
  EXPECT_THAT(help, HasSubstr("How large\n")) << "one value has them all";
  EXPECT_THAT(help, HasSubstr("[OPTIONS] TOOL ")) << "it takes one, and refuses more by itself";
}

TEST_F(Arguments, OfTheOutputAreTheSameInEveryCommand) {
  std::string form = "text";
  add_output_option(*program_.get_subcommand("tools"), form, {"text", "json"}, "What is printed");
  EXPECT_EQ(mistake("tools -o json"), "");
  program_.get_subcommand("tools")->formatter(std::make_shared<HelpFormatter>(80));
  EXPECT_THAT(program_.get_subcommand("tools")->help(), HasSubstr("What is printed (text, json) [text]"));
  EXPECT_EQ(form, "json");
  EXPECT_EQ(mistake("tools --output jsn"),
            R"(--output: expected one of text, json, got "jsn"; did you mean json?)");
}

TEST(DeviceOption, SaysAllThatAJobsDeviceIs) {
  EXPECT_THAT(device_overrides("cpu").value(),
              ElementsAre("spec.resources.device.kind=CPU", "spec.resources.device.product=null",
                          "spec.resources.device.memory=null"));
  EXPECT_THAT(device_overrides("H200").value(),
              ElementsAre("spec.resources.device.product=H200", "spec.resources.device.memory=null",
                          "spec.resources.device.kind=GPU"));
  EXPECT_THAT(device_overrides("Xeon", {{.name = "Xeon"}}).value(), Not(Contains(HasSubstr("kind"))))
      << "a catalogue does not say what is a CPU";
  const auto unknown = device_overrides("h100-81gb");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, StartsWith("--device: expected one of cpu, "));
  EXPECT_THAT(unknown.error().message, EndsWith("did you mean H100-80GB?"));
}

TEST(DeviceOption, ADeviceGoesByAllNamesThatItsCatalogueKnows) {
  for (const char* cpu : {"cpu", "CPU"}) EXPECT_EQ(device_named(cpu).value(), "cpu");
  for (const char* h100 : {"H100-80GB", "h100-80gb", "H100", "NVIDIA-H100-80GB-HBM3"})
    EXPECT_EQ(device_named(h100).value(), "H100-80GB");
  EXPECT_THAT(device_named("GPU").error().message, HasSubstr("expected a product, such as H100-80GB"));
}

TEST(ShellPath, IsQuotedWhereAShellWouldReadMoreIntoIt) {
  EXPECT_EQ(shell_path("jobs/a-1.yaml"), "jobs/a-1.yaml");
  EXPECT_EQ(shell_path("my job.yaml"), "'my job.yaml'");
  EXPECT_EQ(shell_path("$(it's)"), R"('$(it'\''s)')");
  EXPECT_EQ(shell_path("~/job"), "'~/job'");
  EXPECT_EQ(shell_path("-o"), "./-o");
  EXPECT_EQ(shell_path(""), "''");
}

}  // namespace
}  // namespace caravan::cli
