#include "worker/trainer/loop/gradient_dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "checkpoint/folder/volume.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/model/owned_parts.h"

namespace caravan::trainer {
namespace {

const std::string kSecondCopy = "lm_head.weight";

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0.
std::string npy_header(at::ScalarType element, const std::vector<int64_t>& shape) {
  const char* type = element == at::kDouble ? "<f8" : "<f4";
  const std::string comma = shape.size() == 1 ? "," : "";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                 fmt::join(shape, ", "), comma);
  constexpr std::size_t kPrefix = 10;
  constexpr std::size_t kAlignment = 64;
  text.append(kAlignment - (kPrefix + text.size() + 1) % kAlignment, ' ');
  text.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xff));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

// Every rank that has a part of the tensor writes the same header.
Status write_part(checkpoint::Volume& folder, const std::string& name, const at::Tensor& gradients,
                  const OwnedPart& owned) {
  const auto file = folder.open_output(name);
  if (!file) return tl::unexpected(file.error());
  const std::string header = npy_header(gradients.scalar_type(), owned.part.full_shape);
  Status written = (*file)->write(0, std::as_bytes(std::span(header)));
  const auto size = static_cast<int64_t>(gradients.element_size());
  for_each_run(owned, [&](const Run& run) {
    const at::Tensor part = kernels::on_host(gradients.narrow(0, run.values.offset, run.values.elements));
    if (written)
      written = (*file)->write(std::ssize(header) + run.first_full * size, kernels::bytes_of(part));
  });
  return written;
}

}  // namespace

Status dump_gradients(const ParameterStore& store, const StagePlacement& placement, DataShard slice,
                      const std::string& directory) {
  const auto folder = checkpoint::make_volume(directory);
  if (!folder) return tl::unexpected(folder.error());
  const auto parts =
      owned_parts(store.layout, placement, slices_of(store.layout, slice), Selection::Everything);
  for (const OwnedPart& owned : parts) {
    const bool second_copy = owned.parameter.tied_copy && !placement.has_embedding();
    if (!second_copy && !counts_here(owned.parameter, placement)) continue;
    const std::string name = (second_copy ? kSecondCopy : owned.part.name) + ".npy";
    if (Status written = write_part(**folder, name, store.gradients, owned); !written) return written;
  }
  return {};
}

}  // namespace caravan::trainer
