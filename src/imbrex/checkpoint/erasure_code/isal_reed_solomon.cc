#include <fmt/format.h>
#include <isa-l/erasure_code.h>

#include <algorithm>

#include "imbrex/base/error.h"
#include "imbrex/checkpoint/erasure_code/reed_solomon.h"

namespace imbrex {

namespace {

// Sources and results of one step fit into a second-level cache; lengths are ints there.
constexpr std::size_t part_bytes = 32 * 1024;

/// Results from sources by rows of coefficients.
class product {
 public:
  product(int num_sources, std::vector<std::uint8_t> rows)
      : num_sources_(num_sources),
        num_results_(static_cast<int>(rows.size()) / num_sources),
        tables_(32 * rows.size()) {
    ec_init_tables(num_sources_, num_results_, rows.data(), tables_.data());
  }

  void apply(const std::vector<const std::byte*>& sources, const std::vector<std::byte*>& results,
             std::size_t bytes) const {
    std::vector<unsigned char*> from(sources.size());
    std::vector<unsigned char*> to(results.size());
    for (std::size_t begin = 0; begin < bytes; begin += part_bytes) {
      // The library reads sources only, though it does not say so.
      for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(sources[i])) + begin;
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = reinterpret_cast<unsigned char*>(results[i]) + begin;
      ec_encode_data(static_cast<int>(std::min(part_bytes, bytes - begin)), num_sources_, num_results_,
                     const_cast<unsigned char*>(tables_.data()), from.data(), to.data());
    }
  }

 private:
  int num_sources_;
  int num_results_;
  std::vector<std::uint8_t> tables_;
};

void check_numbers(const char* what, std::size_t given, int wanted) {
  if (given != static_cast<std::size_t>(wanted)) {
    throw usage_error(
        fmt::format("{} blocks of {} are given to a reed_solomon of {}: give as many", given, what, wanted));
  }
}

void check_length(std::size_t bytes, std::size_t wanted) {
  if (bytes != wanted) {
    throw usage_error(fmt::format("a block has {} bytes and the first {}: fill the shorter ones up", bytes, wanted));
  }
}

}  // namespace

bool reed_solomon::is_built() { return true; }

reed_solomon::reed_solomon(int num_data, int num_parity) : num_data_(num_data), num_parity_(num_parity) {
  if (num_data < 1 || num_parity < 1 || num_data > 256 || num_parity > 256 || num_data + num_parity > 256) {
    throw usage_error(fmt::format(
        "a reed_solomon of {} and {} blocks: give 1 at least of each and 256 together at most", num_data, num_parity));
  }
  matrix_.resize(static_cast<std::size_t>(num_data + num_parity) * static_cast<std::size_t>(num_data));
  // Cauchy's, since any square part of it has an inverse, which is not so for the powers of gf_gen_rs_matrix.
  gf_gen_cauchy1_matrix(matrix_.data(), num_data + num_parity, num_data);
}

std::span<const std::uint8_t> reed_solomon::row(int block) const {
  const auto k = static_cast<std::size_t>(num_data_);
  return std::span(matrix_).subspan(static_cast<std::size_t>(block) * k, k);
}

void reed_solomon::encode(std::span<const std::span<const std::byte>> data,
                          std::span<const std::span<std::byte>> parity) const {
  check_numbers("data", data.size(), num_data_);
  check_numbers("parity", parity.size(), num_parity_);
  const std::size_t bytes = data.front().size();
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> results;
  for (const auto block : data) check_length(block.size(), bytes), sources.push_back(block.data());
  for (const auto block : parity) check_length(block.size(), bytes), results.push_back(block.data());
  const auto first = static_cast<std::ptrdiff_t>(num_data_) * num_data_;
  product(num_data_, {matrix_.begin() + first, matrix_.end()}).apply(sources, results, bytes);
}

// Of the blocks that are there, num_data are a product of the data with their rows: its inverse gives the data from
// them, and the rows of what is lost give that from the data.
void reed_solomon::restore(std::span<const std::span<std::byte>> blocks, std::span<const int> lost) const {
  check_numbers("data and parity", blocks.size(), num_data_ + num_parity_);
  for (const auto block : blocks) check_length(block.size(), blocks.front().size());
  const std::vector<int> missing = checked_lost(lost);
  if (missing.empty()) return;

  std::vector<const std::byte*> sources;
  std::vector<std::byte*> results;
  results.reserve(missing.size());
  for (const int i : missing) results.push_back(blocks[static_cast<std::size_t>(i)].data());
  std::vector<std::uint8_t> there;
  for (int i = 0; sources.size() < static_cast<std::size_t>(num_data_); ++i) {
    if (std::binary_search(missing.begin(), missing.end(), i)) continue;
    sources.push_back(blocks[static_cast<std::size_t>(i)].data());
    there.insert(there.end(), row(i).begin(), row(i).end());
  }
  product(num_data_, rows_from(std::move(there), missing)).apply(sources, results, blocks.front().size());
}

std::vector<int> reed_solomon::checked_lost(std::span<const int> lost) const {
  const int num_blocks = num_data_ + num_parity_;
  std::vector<int> missing(lost.begin(), lost.end());
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  for (const int block : missing) {
    if (block >= 0 && block < num_blocks) continue;
    throw usage_error(fmt::format("block {} is lost where there are {}: count them from 0", block, num_blocks));
  }
  if (missing.size() > static_cast<std::size_t>(num_parity_)) {
    throw checkpoint_error(
        fmt::format("{} blocks are lost of {}, and the parity restores {} at most: use a checkpoint "
                    "on disk, and more parity next time",
                    missing.size(), num_blocks, num_parity_));
  }
  return missing;
}

std::vector<std::uint8_t> reed_solomon::rows_from(std::vector<std::uint8_t> there, std::span<const int> missing) const {
  const auto k = static_cast<std::size_t>(num_data_);
  std::vector<std::uint8_t> inverse(k * k);
  if (gf_invert_matrix(there.data(), inverse.data(), num_data_) != 0) {
    throw checkpoint_error("blocks cannot be restored, since their coefficients have no inverse: report this");
  }
  std::vector<std::uint8_t> rows;
  for (const int i : missing) {
    for (std::size_t column = 0; column < k; ++column) {
      std::uint8_t sum = 0;
      for (std::size_t j = 0; j < k; ++j) sum ^= gf_mul(row(i)[j], inverse[j * k + column]);
      rows.push_back(sum);
    }
  }
  return rows;
}

}  // namespace imbrex
