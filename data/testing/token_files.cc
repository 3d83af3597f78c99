#include "data/testing/token_files.h"

namespace caravan::data {
namespace {

template <typename Token>
LlmCFile with_payload(LlmCFile file, const std::vector<Token>& tokens) {
  file.tokens_low = static_cast<uint32_t>(tokens.size());
  file.payload = bytes_of(tokens);
  return file;
}

}  // namespace

std::string LlmCFile::bytes() const {
  std::vector<uint32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = tokens_low;
  header[3] = tokens_high;
  return bytes_of(header) + payload;
}

LlmCFile llm_c_file(const std::vector<uint16_t>& tokens) {
  return with_payload({.magic = 20240520, .version = 1, .payload = {}}, tokens);
}

LlmCFile llm_c_file(const std::vector<uint32_t>& tokens) {
  return with_payload({.magic = 20240801, .version = 7, .payload = {}}, tokens);
}

std::string MegatronIndex::bytes() const {
  return magic + bytes_of(std::vector{version}) + bytes_of(std::vector{type}) +
         bytes_of(std::vector{sequences, document_entries}) + bytes_of(lengths) + bytes_of(positions) +
         bytes_of(documents);
}

MegatronIndex megatron_index(uint8_t type, int64_t width, const std::vector<int32_t>& lengths) {
  MegatronIndex index{
      .type = type, .sequences = lengths.size(), .lengths = lengths, .positions = {}, .documents = {0}};
  int64_t position = 0;
  for (const int32_t length : lengths) {
    index.positions.push_back(position);
    position += length * width;
    index.documents.push_back(static_cast<int64_t>(index.positions.size()));
  }
  index.document_entries = index.documents.size();
  return index;
}

}  // namespace caravan::data
