#include "worker/trainer/loop/gradient_dump.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>

namespace caravan::trainer {
namespace {

const std::string kSecondCopy = "lm_head.weight";

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0.
std::string npy_header(const at::Tensor& tensor) {
  const char* type = tensor.scalar_type() == at::kDouble ? "<f8" : "<f4";
  const std::string comma = tensor.dim() == 1 ? "," : "";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                 fmt::join(tensor.sizes(), ", "), comma);
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  text.append(kAlignment - (kPrefix + text.size() + 1) % kAlignment, ' ');
  text.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xff));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

Status write_npy(const std::filesystem::path& path, const at::Tensor& tensor) {
  std::ofstream file(path, std::ios::binary);
  file << npy_header(tensor);
  file.write(static_cast<const char*>(tensor.data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
  file.close();
  if (!file) return bad_input(fmt::format("{}: the gradients cannot be written", path.string()));
  return {};
}

// The full tensor of one part, without the padding of the last shards.
at::Tensor gather(const at::Tensor& local, const ParameterPart& part, Communicator& tensor_group) {
  if (part.shard_dimension < 0) return local.contiguous();
  at::Tensor stacked = at::empty({tensor_group.size() * local.size(0), local.size(1)}, local.options());
  tensor_group.all_gather(stacked, local.contiguous());
  const at::Tensor full = at::cat(stacked.chunk(tensor_group.size(), 0), part.shard_dimension);
  return full.narrow(part.shard_dimension, 0, part.full_shape[static_cast<std::size_t>(part.shard_dimension)])
      .contiguous();
}

}  // namespace

Status dump_gradients(const ParameterStore& store, const StagePlacement& placement, Mesh& mesh,
                      const std::string& directory) {
  const bool writes = mesh.position.tensor == 0 && mesh.position.data == 0;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (const Parameter& parameter : store.layout.parameters) {
    const at::Tensor whole = store.gradient(parameter);
    int64_t row = 0;
    for (const ParameterPart& part : parameter.parts) {
      const int64_t rows = part.local_shape()[0];
      const at::Tensor full = gather(whole.narrow(0, row, rows), part, *mesh.tensor);
      row += rows;
      const bool second_copy = parameter.tied_copy && !placement.has_embedding();
      const std::string& name = second_copy ? kSecondCopy : part.name;
      if (!writes) continue;
      if (Status written = write_npy(std::filesystem::path(directory) / (name + ".npy"), full); !written)
        return written;
    }
  }
  return {};
}

}  // namespace caravan::trainer
