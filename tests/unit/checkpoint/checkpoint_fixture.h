#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/checkpoint/checkpoint_folder.h"
#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/partial_checkpoint.h"
#include "imbrex/checkpoint/snapshot_reader.h"
#include "imbrex/checkpoint/snapshot_writer.h"

namespace imbrex {
inline void PrintTo(snapshot_fault fault, std::ostream* to) { *to << to_string(fault); }
}  // namespace imbrex

namespace checkpoint_test {

using bytes = std::vector<std::byte>;
constexpr std::uint64_t own_program = 0x1234;

inline bytes random_bytes(std::uint64_t seed, std::size_t n) {
  imbrex::random_sequence numbers(seed);
  bytes all(n);
  for (std::size_t i = 0; i < n; i += 8) {
    const std::uint64_t word = numbers.next();
    for (std::size_t j = i; j < n && j < i + 8; ++j) all[j] = static_cast<std::byte>(word >> (8 * (j - i)));
  }
  return all;
}

struct sample_record {
  std::uint32_t kind = 0;
  bytes key;
  bytes payload;
};

/// What rank `rank` has in checkpoint `number`: records of three kinds, of no byte to some 100 KiB.
inline std::vector<sample_record> sample(std::uint64_t number, int rank) {
  imbrex::random_sequence numbers(number * 1000 + static_cast<std::uint64_t>(rank));
  std::vector<sample_record> records(1 + numbers.below(12));
  for (sample_record& r : records) {
    r.kind = static_cast<std::uint32_t>(numbers.below(3));
    r.key = random_bytes(numbers.next(), 1 + numbers.below(40));
    r.payload = random_bytes(numbers.next(), numbers.below(3) == 0 ? numbers.below(100'000) : numbers.below(200));
  }
  return records;
}

inline imbrex::snapshot_facts sample_facts(std::uint64_t number, int num_ranks) {
  return {own_program, {num_ranks, 2, 1}, 100 * number, "of the test", {"element", "group", "slot"}};
}

/// Writes `sample(number, rank)` for all ranks; every other rank by a thread of its own. Returns the path.
inline std::string write_sample(const std::string& base, int num_ranks, int keep = 2, std::size_t chunk_bytes = 4096) {
  imbrex::partial_checkpoint p(base);
  std::vector<imbrex::rank_file_facts> files;
  for (int rank = 0; rank < num_ranks; ++rank) {
    imbrex::snapshot_writer w(p.folder(), rank, {chunk_bytes, rank % 2 == 1});
    for (const sample_record& r : sample(p.number(), rank)) w.add(r.kind, r.key, r.payload);
    files.push_back(w.finish());
  }
  return p.commit(sample_facts(p.number(), num_ranks), files, keep);
}

/// Whether all payloads and keys are as they were written; a mismatch is a failure of the test.
inline void expect_sample(imbrex::snapshot_reader& reader) {
  for (int rank = 0; rank < reader.num_files(); ++rank) {
    const std::vector<sample_record> wanted = sample(reader.about().number, rank);
    const auto found = reader.records(rank);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(found[i].kind, wanted[i].kind);
      EXPECT_EQ(bytes(found[i].key.begin(), found[i].key.end()), wanted[i].key);
      EXPECT_EQ(reader.read(found[i]), wanted[i].payload);
    }
  }
}

inline std::span<const std::byte> as_key(const std::string& text) { return std::as_bytes(std::span(text)); }

/// In memory, where there is such a file system: the tests wait for the disk a thousand times. TMPDIR overrides that.
inline std::filesystem::path folder_for_tests() {
  const std::filesystem::path memory = "/dev/shm";
  if (std::getenv("TMPDIR") == nullptr && access(memory.c_str(), W_OK) == 0) return memory;
  return std::filesystem::temp_directory_path();
}

/// A folder of its own for each test, which is skipped where checkpoints cannot be written at all.
struct checkpoint_fixture : testing::Test {
  checkpoint_fixture() {
    std::string name = (folder_for_tests() / "imbrex-checkpoint-XXXXXX").string();
    folder = mkdtemp(name.data());
    base = folder + "/checkpoints";
  }
  ~checkpoint_fixture() override { std::filesystem::remove_all(folder); }
  void SetUp() override {
    if (imbrex::crc32_library() == std::string("none")) GTEST_SKIP() << "this build has neither libdeflate nor zlib";
  }

  std::string folder;
  std::string base;
};

inline void flip_bit(const std::string& file, std::uint64_t byte, int bit = 0) {
  std::fstream f(file, std::ios::binary | std::ios::in | std::ios::out);
  f.seekg(static_cast<std::streamoff>(byte));
  const char old = static_cast<char>(f.get());
  f.seekp(static_cast<std::streamoff>(byte));
  f.put(static_cast<char>(old ^ (1 << bit)));
}

/// The error of a call, which must be a `snapshot_error`.
template <class Call>
imbrex::snapshot_error error_of(Call call) {
  try {
    call();
  } catch (const imbrex::snapshot_error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {imbrex::snapshot_fault::input_output, "", "nothing was thrown"};
}

}  // namespace checkpoint_test
