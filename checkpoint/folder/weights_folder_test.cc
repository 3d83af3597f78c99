#include "checkpoint/folder/weights_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::tiny_model;

constexpr char kTable[] = "model.embed_tokens.weight";

float value_at(std::size_t tensor, int64_t element) {
  return static_cast<float>(tensor) + static_cast<float>(element) / 64;
}

// A file of the tensors in [begin, end), fp32 or as changed.
std::string file_of(const std::vector<NamedShape>& tensors, std::size_t begin, std::size_t end,
                    const std::function<void(TensorEntry&)>& change = {}) {
  Header header;
  std::string data;
  for (std::size_t i = begin; i < end; ++i) {
    TensorEntry entry{.name = tensors[i].name, .type = ElementType::F32, .shape = tensors[i].shape};
    if (change) change(entry);
    entry.begin = std::ssize(data);
    const int64_t bytes = tensor_bytes(entry.type, entry.shape).value();
    for (int64_t element = 0; element < bytes / 4; ++element) {
      const float value = value_at(i, element);
      data.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    data.resize(static_cast<std::size_t>(entry.begin + bytes));
    entry.end = std::ssize(data);
    header.tensors.push_back(std::move(entry));
  }
  return header_bytes(header) + data;
}

class ModelFolder {
 public:
  ModelFolder() { write(kConfigFile, config_json(tiny_model(), ElementType::F32, 16)); }

  void write(const std::string& name, const std::string& text) const { files_.write("model/" + name, text); }
  std::string path(const std::string& name = "") const {
    return name.empty() ? files_.path("model") : files_.path("model/" + name);
  }
  std::string outside(const std::string& name) const { return files_.path(name); }

  // What opening the folder and checking all tensors says.
  std::string mistake() const {
    auto folder = WeightsFolder::open(path());
    if (!folder) return folder.error().message;
    const Status right = folder->check_all();
    return right ? "none" : right.error().message;
  }

  const std::vector<NamedShape> tensors = tensors_of(tiny_model());

 private:
  test::TemporaryFolder files_;
};

void expect_values(WeightsFolder& folder, const std::vector<NamedShape>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_TRUE(folder.check(tensors[i])) << tensors[i].name;
    std::vector<float> some(3);
    ASSERT_TRUE(folder.read(tensors[i].name, 2, ElementType::F32, std::as_writable_bytes(std::span(some))));
    EXPECT_EQ(some, (std::vector{value_at(i, 2), value_at(i, 3), value_at(i, 4)})) << tensors[i].name;
  }
}

TEST(WeightsFolder, ReadsOneFileOrManyWithAnIndex) {
  const ModelFolder one;
  one.write(kWeightsFile, file_of(one.tensors, 0, one.tensors.size()));
  auto whole = WeightsFolder::open(one.path()).value();
  EXPECT_EQ(difference(whole.model(), tiny_model()), "");
  expect_values(whole, one.tensors);

  const ModelFolder many;
  const std::size_t middle = many.tensors.size() / 2;
  many.write("a.safetensors", file_of(many.tensors, 0, middle));
  many.write("b.safetensors", file_of(many.tensors, middle, many.tensors.size()));
  std::string lines;
  for (std::size_t i = 0; i < many.tensors.size(); ++i) {
    lines += fmt::format("{}\"{}\": \"{}.safetensors\"", i == 0 ? "" : ",", many.tensors[i].name,
                         i < middle ? "a" : "b");
  }
  many.write(kWeightsIndexFile, fmt::format(R"({{"metadata": {{}}, "weight_map": {{{}}}}})", lines));
  auto parts = WeightsFolder::open(many.path()).value();
  expect_values(parts, many.tensors);
  EXPECT_EQ(parts.names().size(), many.tensors.size());
}

TEST(WeightsFolder, ACheckpointIsOne) {
  const test::TemporaryFolder files;
  const auto volume = make_volume(files.path("all")).value();
  ASSERT_TRUE(testing::write_tiny(*volume, 3));
  auto folder = WeightsFolder::open(files.path("all/step-000003")).value();
  std::vector<float> some(2);
  ASSERT_TRUE(folder.read(kTable, 5, ElementType::F32, std::as_writable_bytes(std::span(some))));
  EXPECT_EQ(some, (std::vector{testing::tiny_value(3, StateKind::Weights, 0, 5),
                               testing::tiny_value(3, StateKind::Weights, 0, 6)}));
}

// Whatever its name.
TEST(WeightsFolder, OfACheckpointEveryBlockThatIsReadIsVerified) {
  const test::TemporaryFolder files;
  const auto volume = make_volume(files.path("all")).value();
  ASSERT_TRUE(testing::write_tiny(*volume, 3));
  fs::rename(files.path("all/step-000003"), files.path("all/mine"));
  const std::string file = "all/mine/model-00001-of-00002.safetensors";
  std::string bytes = test::contents(files.path(file));
  bytes[bytes.size() - 7] ^= 1;
  files.write(file, bytes);
  auto folder = WeightsFolder::open(files.path("all/mine")).value();
  ASSERT_TRUE(folder.check_all());
  std::vector<double> some(2);
  const auto first = std::as_writable_bytes(std::span(some));
  EXPECT_TRUE(folder.read(kTable, 0, ElementType::F64, first)) << "blocks before are what was written";
  Status all;
  for (const NamedShape& tensor : tensors_of(tiny_model())) {
    const int64_t elements = tensor.shape[0] * (tensor.shape.size() > 1 ? tensor.shape[1] : 1);
    std::vector<double> values(static_cast<std::size_t>(elements));
    if (all) all = folder.read(tensor.name, 0, ElementType::F64, std::as_writable_bytes(std::span(values)));
  }
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("model-00001-of-00002.safetensors: bytes "));
  EXPECT_THAT(all.error().message, HasSubstr("are not those that were written"));

  files.write("all/mine/manifest.json", "{}");
  const auto foreign = WeightsFolder::open(files.path("all/mine"));
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("with a manifest.json the folder is read as a checkpoint"));
}

// Nothing of what config.json says is allocated before the files have it.
TEST(WeightsFolder, AConfigurationLargerThanItsFilesIsRefusedAtOnce) {
  const std::string good = config_json(tiny_model(), ElementType::F32, 16);
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"("num_hidden_layers": 2,)", R"("num_hidden_layers": 2147483647,)",
       "'model.layers.2.input_layernorm.weight'"},
      {R"("vocab_size": 20)", R"("vocab_size": 2147483647)",
       "shape is [20, 8], config.json makes it [2147483647, 8]"},
      {R"("head_dim": 4)", R"("head_dim": 2147483646)", "config.json makes it [4294967292, 8]"},
      {R"("intermediate_size": 12)", R"("intermediate_size": 2147483647)",
       "config.json makes it [2147483647, 8]"},
  };
  for (const auto& [before, after, says] : cases) {
    const ModelFolder folder;
    folder.write(kWeightsFile, file_of(folder.tensors, 0, folder.tensors.size()));
    std::string config = good;
    ASSERT_NE(config.find(before), std::string::npos) << before;
    folder.write(kConfigFile, config.replace(config.find(before), std::string_view(before).size(), after));
    EXPECT_THAT(folder.mistake(), HasSubstr(says));
  }
}

// snapshots/REVISION/model.safetensors -> ../../blobs/SUM
TEST(WeightsFolder, FollowsTheLinksOfACache) {
  const ModelFolder cache;
  cache.write("blobs/1234", file_of(cache.tensors, 0, cache.tensors.size()));
  fs::create_directories(cache.path("snapshots/main"));
  fs::create_symlink("../../blobs/1234", cache.path("snapshots/main/model.safetensors"));
  fs::create_symlink("../../config.json", cache.path("snapshots/main/config.json"));
  auto folder = WeightsFolder::open(cache.path("snapshots/main"));
  ASSERT_TRUE(folder) << folder.error().message;
  expect_values(*folder, cache.tensors);
}

TEST(WeightsFolder, ACheckpointThatItsJobRemovesIsSaidToBeGone) {
  const test::TemporaryFolder files;
  const auto volume = make_volume(files.path("all")).value();
  ASSERT_TRUE(testing::write_tiny(*volume, 3));
  auto folder = WeightsFolder::open(files.path("all/step-000003")).value();
  fs::remove_all(files.path("all/step-000003"));
  std::vector<float> some(2);
  const Status read = folder.read(kTable, 0, ElementType::F32, std::as_writable_bytes(std::span(some)));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            files.path("all/step-000003") +
                ": was removed meanwhile; take another, such as the job's newest checkpoint");
}

TEST(WeightsFolder, LinksLeadToRegularFilesOnly) {
  for (const char* target : {"/dev/zero", "/proc/self/fd/0", "pipe", "."}) {
    const ModelFolder folder;
    ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
    fs::create_symlink(target, folder.path(kWeightsFile));
    const auto opened = WeightsFolder::open(folder.path());
    ASSERT_FALSE(opened) << target;
    EXPECT_THAT(opened.error().message, HasSubstr("model/model.safetensors")) << target;
  }
}

TEST(WeightsFolder, AnIndexNamesFilesOfItsFolderOnly) {
  for (const char* name : {"../secret.safetensors", "/etc/passwd", "inside/a.safetensors", "", "..", "."}) {
    const ModelFolder folder;
    folder.write(kWeightsIndexFile, fmt::format(R"({{"weight_map": {{"{}": "{}"}}}})", kTable, name));
    EXPECT_THAT(folder.mistake(), HasSubstr("must be the name of a file in this folder")) << name;
  }
}

struct Mistake {
  const char* says;
  std::function<void(const ModelFolder&)> make;
};

const Mistake kMistakes[] = {
    {"model: has neither model.safetensors nor model.safetensors.index.json", [](const ModelFolder&) {}},
    {"model/config.json: cannot open: No such file or directory; a model's folder has config.json",
     [](const ModelFolder& f) { fs::remove(f.path(kConfigFile)); }},
    {"model/config.json: num_hidden_layers: must be a whole number",
     [](const ModelFolder& f) { f.write(kConfigFile, R"({"hidden_size": 8})"); }},
    {"model/model.safetensors: too short", [](const ModelFolder& f) { f.write(kWeightsFile, "1234"); }},
    {"model/model.safetensors: no safetensors file: its header would have",
     [](const ModelFolder& f) { f.write(kWeightsFile, std::string(64, '\xFF')); }},
    {"model/model.safetensors: header: its tensors end at byte",
     [](const ModelFolder& f) {
       fs::resize_file(f.path(kWeightsFile), fs::file_size(f.path(kWeightsFile)) - 1);
     }},
    {"model: has no tensor 'lm_head.weight', which the model of its config.json has",
     [](const ModelFolder& f) { f.write(kWeightsFile, file_of(f.tensors, 0, f.tensors.size() - 1)); }},
    {"model/model.safetensors: tensor 'model.norm.weight': shape is [4, 2], config.json makes it [8]",
     [](const ModelFolder& f) {
       f.write(kWeightsFile, file_of(f.tensors, 0, f.tensors.size(), [](TensorEntry& entry) {
                 if (entry.name == "model.norm.weight") entry.shape = {4, 2};
               }));
     }},
    {"model/model.safetensors: tensor 'model.norm.weight': dtype is I8",
     [](const ModelFolder& f) {
       f.write(kWeightsFile, file_of(f.tensors, 0, f.tensors.size(), [](TensorEntry& entry) {
                 if (entry.name == "model.norm.weight") entry.type = ElementType::I8;
               }));
     }},
    {"model/model.safetensors.index.json: weight_map: must be an object",
     [](const ModelFolder& f) {
       fs::remove(f.path(kWeightsFile));
       f.write(kWeightsIndexFile, R"({"weight_map": []})");
     }},
    {"model/part.safetensors: has no tensor 'model.embed_tokens.weight', which "
     "model.safetensors.index.json",
     [](const ModelFolder& f) {
       fs::rename(f.path(kWeightsFile), f.path("a.safetensors"));
       f.write("part.safetensors", file_of(f.tensors, 1, 2));
       f.write(kWeightsIndexFile, fmt::format(R"({{"weight_map": {{"{}": "part.safetensors"}}}})", kTable));
     }},
};

TEST(WeightsFolder, WhatIsWrongIsNamedWithFileTensorAndField) {
  for (const Mistake& mistake : kMistakes) {
    const ModelFolder folder;
    if (std::string(mistake.says).find("neither") == std::string::npos)
      folder.write(kWeightsFile, file_of(folder.tensors, 0, folder.tensors.size()));
    mistake.make(folder);
    EXPECT_THAT(folder.mistake(), HasSubstr(mistake.says));
  }
}

TEST(WeightsFolder, SaysWhichTokensEndATextAsTransformersReadIt) {
  const ModelFolder folder;
  folder.write(kWeightsFile, file_of(folder.tensors, 0, folder.tensors.size()));
  const auto tokens = [&] { return WeightsFolder::open(folder.path()).value().eos_tokens(); };
  EXPECT_EQ(tokens().value(), std::vector<int64_t>{});
  planner::ModelShape model = tiny_model();
  model.eos_tokens = {2};
  folder.write(kConfigFile, config_json(model, ElementType::F32, 16));
  EXPECT_EQ(tokens().value(), std::vector<int64_t>{2});
  folder.write("generation_config.json", R"({"eos_token_id": [8, 9], "do_sample": true})");
  EXPECT_EQ(tokens().value(), (std::vector<int64_t>{8, 9}));
  folder.write("generation_config.json", R"({"do_sample": true})");
  EXPECT_EQ(tokens().value(), std::vector<int64_t>{2});
  folder.write("generation_config.json", R"({"eos_token_id": "two"})");
  EXPECT_THAT(tokens().error().message, HasSubstr("generation_config.json: eos_token_id: must be a token"));
}

TEST(WeightsFolder, WhatTheModelDoesNotHaveIsLeftAlone) {
  const ModelFolder folder;
  std::vector<NamedShape> tensors = folder.tensors;
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {2}});  // of older versions of Llama 2
  folder.write(kWeightsFile, file_of(tensors, 0, tensors.size()));
  EXPECT_EQ(folder.mistake(), "none");
}

TEST(WeightsFolder, HalvesAreReadAsTheTypeThatIsAskedFor) {
  const ModelFolder folder;
  folder.write(kWeightsFile, file_of(folder.tensors, 0, folder.tensors.size(),
                                     [](TensorEntry& entry) { entry.type = ElementType::F16; }));
  std::string bytes = test::contents(folder.path(kWeightsFile));
  auto opened = WeightsFolder::open(folder.path()).value();
  const TensorEntry entry = *opened.find("model.norm.weight").value();
  const std::size_t begin =
      bytes.size() - static_cast<std::size_t>(opened.find("lm_head.weight").value()->end - entry.begin);
  bytes.replace(begin, 4, std::string("\x00\x3C\x00\xC1", 4));  // 1 and -2.5
  folder.write(kWeightsFile, bytes);
  auto changed = WeightsFolder::open(folder.path()).value();
  std::vector<float> wide(2);
  ASSERT_TRUE(
      changed.read("model.norm.weight", 0, ElementType::F32, std::as_writable_bytes(std::span(wide))));
  EXPECT_EQ(wide, (std::vector{1.0F, -2.5F}));
  std::vector<uint16_t> narrow(2);
  ASSERT_TRUE(
      changed.read("model.norm.weight", 0, ElementType::BF16, std::as_writable_bytes(std::span(narrow))));
  EXPECT_EQ(narrow, (std::vector<uint16_t>{0x3F80, 0xC020}));
}

}  // namespace
}  // namespace caravan::checkpoint
