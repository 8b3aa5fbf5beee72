#include "imbrex/checkpoint/snapshot_reader.h"

#include <set>

#include "imbrex/base/error.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace snapshot_reader_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;

struct snapshot_reading : checkpoint_fixture {};

TEST_F(snapshot_reading, gives_back_what_was_written) {
  for (const int num_ranks : {1, 2, 5}) {
    snapshot_reader r(write_sample(base, num_ranks));
    EXPECT_EQ(r.num_files(), num_ranks);
    expect_sample(r);
  }
}

TEST_F(snapshot_reading, the_manifest_says_what_it_is_of) {
  const snapshot_reader r(write_sample(base, 3));
  const snapshot_manifest& m = r.about();
  EXPECT_EQ(m.number, 1u);
  EXPECT_EQ(m.facts.program, own_program);
  EXPECT_EQ(m.facts.shape, (snapshot_shape{3, 2, 1}));
  EXPECT_EQ(m.facts.step, 100u);
  EXPECT_EQ(m.facts.label, "of the test");
  EXPECT_NEAR(static_cast<double>(m.written_at), static_cast<double>(std::time(nullptr)), 100);
  EXPECT_EQ(m.kind_name(1), "group");
  EXPECT_EQ(m.kind_name(9), "kind 9");
  std::uint64_t num_records = 0, num_bytes = 0;
  for (int rank = 0; rank < 3; ++rank) {
    for (const sample_record& s : sample(1, rank)) ++num_records, num_bytes += s.payload.size();
  }
  EXPECT_EQ(m.num_records(), num_records);
  std::uint64_t of_kinds = 0;
  for (const kind_total& k : m.kinds()) of_kinds += k.payload_bytes;
  EXPECT_EQ(of_kinds, num_bytes);
}

// Ranks of another number each take the records that are theirs, and together they have all.
TEST_F(snapshot_reading, any_number_of_readers_share_the_records) {
  const std::string path = write_sample(base, 4);
  std::size_t num_written = 0;
  for (int rank = 0; rank < 4; ++rank) num_written += sample(1, rank).size();
  for (const std::uint64_t num_readers : {1, 3, 7}) {
    std::set<bytes> seen;
    for (std::uint64_t reader = 0; reader < num_readers; ++reader) {
      snapshot_reader r(path, {check_depth::sizes, own_program});
      for (int file = 0; file < r.num_files(); ++file) {
        for (const record_view& v : r.records(file)) {
          const std::string key(reinterpret_cast<const char*>(v.key.data()), v.key.size());
          if (hash_bytes(key) % num_readers != reader) continue;
          EXPECT_EQ(r.read(v).size(), v.bytes);
          EXPECT_TRUE(seen.emplace(v.key.begin(), v.key.end()).second);
        }
      }
    }
    EXPECT_EQ(seen.size(), num_written);
  }
}

TEST_F(snapshot_reading, payloads_come_in_pieces) {
  snapshot_reader r(write_sample(base, 2));
  bytes buffer(1000);
  for (int rank = 0; rank < 2; ++rank) {
    const auto wanted = sample(1, rank);
    const auto records = r.records(rank);
    for (std::size_t i = 0; i < records.size(); ++i) {
      bytes whole;
      r.read_in_pieces(records[i], buffer, [&](std::span<const std::byte> piece) {
        EXPECT_LE(piece.size(), 1000u);
        whole.insert(whole.end(), piece.begin(), piece.end());
      });
      EXPECT_EQ(whole, wanted[i].payload);
    }
  }
  EXPECT_THROW(r.read_in_pieces(r.records(0)[0], {}, {}), usage_error);
}

TEST_F(snapshot_reading, memory_must_be_as_large_as_the_payload) {
  snapshot_reader r(write_sample(base, 1));
  bytes wrong(r.records(0)[0].bytes + 1);
  EXPECT_THROW(r.read(r.records(0)[0], wrong), usage_error);
}

TEST_F(snapshot_reading, more_files_than_are_kept_open) {
  snapshot_reader r(write_sample(base, 80));
  expect_sample(r);
  expect_sample(r);
  r.check_payloads();
}

TEST_F(snapshot_reading, a_checkpoint_may_be_copied_and_have_a_slash_at_its_end) {
  std::filesystem::copy(write_sample(base, 2), folder + "/kept", std::filesystem::copy_options::recursive);
  snapshot_reader r(folder + "/kept//");
  EXPECT_EQ(r.folder(), folder + "/kept");
  expect_sample(r);
}

}  // namespace

}  // namespace snapshot_reader_test
