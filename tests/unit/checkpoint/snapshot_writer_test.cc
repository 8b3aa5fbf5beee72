#include "imbrex/checkpoint/snapshot_writer.h"

#include "imbrex/base/error.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace snapshot_writer_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;
using testing::HasSubstr;

struct snapshot_writing : checkpoint_fixture {
  /// The records that one writer makes of `write`, read back.
  template <class Write>
  std::vector<sample_record> read_back(const snapshot_writer_options& options, Write write) {
    partial_checkpoint p(base);
    snapshot_writer w(p.folder(), 0, options);
    write(w);
    facts = w.finish();
    snapshot_reader r(p.commit({}, {facts}));
    std::vector<sample_record> all;
    for (const record_view& v : r.records(0)) all.push_back({v.kind, {v.key.begin(), v.key.end()}, r.read(v)});
    return all;
  }
  rank_file_facts facts;
};

// A thread that writes or none.
struct snapshot_writing_both : snapshot_writing, testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(, snapshot_writing_both, testing::Bool(),
                         [](const auto& which) { return which.param ? "behind" : "at_once"; });

TEST_P(snapshot_writing_both, pieces_become_one_payload) {
  const bytes payload = random_bytes(1, 100'000);
  for (const std::size_t chunk : {997, 4096, 65536, 1 << 20}) {
    for (const std::size_t piece : {999, 4096, 50'000, 100'000}) {
      const auto found = read_back({chunk, GetParam()}, [&](snapshot_writer& w) {
        w.begin(3, as_key("before"));
        w.end();
        w.begin(2, as_key("the key"));
        for (std::size_t at = 0; at < payload.size(); at += piece) {
          w.append(std::span(payload).subspan(at, std::min(piece, payload.size() - at)));
        }
        w.end();
      });
      ASSERT_EQ(found.size(), 2u);
      EXPECT_EQ(found[0].kind, 3u);
      EXPECT_TRUE(found[0].payload.empty());
      EXPECT_EQ(found[1].kind, 2u);
      EXPECT_EQ(found[1].payload, payload);
    }
  }
}

TEST_P(snapshot_writing_both, a_piece_may_be_changed_once_it_is_appended) {
  const auto found = read_back({4096, GetParam()}, [&](snapshot_writer& w) {
    bytes piece(10'000);
    w.begin(0, {});
    for (int i = 0; i < 50; ++i) {
      std::fill(piece.begin(), piece.end(), static_cast<std::byte>(i));
      w.append(piece);
    }
    w.end();
  });
  ASSERT_EQ(found.at(0).payload.size(), 500'000u);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(found[0].payload[i * 10'000], static_cast<std::byte>(i));
    EXPECT_EQ(found[0].payload[i * 10'000 + 9'999], static_cast<std::byte>(i));
  }
}

TEST_P(snapshot_writing_both, a_payload_may_be_several_spans) {
  const bytes a = random_bytes(1, 10), b = random_bytes(2, 9000), c;
  const std::vector<std::span<const std::byte>> spans{a, b, c, a};
  const auto found = read_back({4096, GetParam()}, [&](snapshot_writer& w) { w.add(1, as_key("k"), spans); });
  bytes whole = a;
  whole.insert(whole.end(), b.begin(), b.end());
  whole.insert(whole.end(), a.begin(), a.end());
  EXPECT_EQ(found.at(0).payload, whole);
}

TEST_P(snapshot_writing_both, many_small_records) {
  const auto found = read_back({1 << 16, GetParam()}, [&](snapshot_writer& w) {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const auto number = std::as_bytes(std::span(&i, 1));
      w.add(0, number, number.first(i % 9));
    }
  });
  ASSERT_EQ(found.size(), 20'000u);
  EXPECT_EQ(found[19'999].payload.size(), 19'999u % 9);
  EXPECT_EQ(facts.num_records, 20'000u);
  EXPECT_EQ(facts.payload_bytes(), 4u * (20'000 - 20'000 % 9) + 1);  // 0 + 1 of the last two
}

TEST_F(snapshot_writing, counts_by_kind_and_knows_its_size) {
  read_back({}, [&](snapshot_writer& w) {
    w.add(0, as_key("a"), random_bytes(1, 5));
    w.add(2, as_key("b"), random_bytes(1, 7));
    w.add(2, as_key("c"), random_bytes(1, 8));
    EXPECT_EQ(w.size(), 32u + 20u);
  });
  ASSERT_EQ(facts.kinds.size(), 3u);
  EXPECT_EQ(facts.kinds[0].num_records, 1u);
  EXPECT_EQ(facts.kinds[1].num_records, 0u);
  EXPECT_EQ(facts.kinds[2].num_records, 2u);
  EXPECT_EQ(facts.kinds[2].payload_bytes, 15u);
  EXPECT_EQ(facts.bytes, std::filesystem::file_size(rank_file_path(base + "/000001", 0)));
}

TEST_F(snapshot_writing, an_empty_file_is_one_too) {
  EXPECT_TRUE(read_back({}, [](snapshot_writer&) {}).empty());
  EXPECT_EQ(facts.bytes, 72u);
}

TEST_F(snapshot_writing, calls_in_a_wrong_order_are_refused) {
  const partial_checkpoint p(base);
  snapshot_writer w(p.folder(), 0);
  const auto refusal = [](auto call) {
    try {
      call();
    } catch (const usage_error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(refusal([&] { w.append({}); }), HasSubstr("append for"));
  EXPECT_THAT(refusal([&] { w.end(); }), HasSubstr("while no record is begun"));
  w.begin(0, {});
  EXPECT_THAT(refusal([&] { w.begin(0, {}); }), HasSubstr("begun and not ended"));
  EXPECT_THAT(refusal([&] { w.finish(); }), HasSubstr("begun and not ended"));
  w.end();
  w.finish();
  EXPECT_THAT(refusal([&] { w.finish(); }), HasSubstr("it is finished"));
  EXPECT_THAT(refusal([&] { snapshot_writer(p.folder(), 1).begin(max_record_kinds, {}); }), HasSubstr("kind 1024"));
  EXPECT_THAT(refusal([&] { snapshot_writer(p.folder(), 1, {0, false}); }), HasSubstr("chunks of 0 bytes"));
}

TEST_F(snapshot_writing, a_writer_that_is_given_up_ends_its_thread) {
  const partial_checkpoint p(base);
  snapshot_writer w(p.folder(), 0, {4096, true});
  w.begin(0, {});
  w.append(random_bytes(1, 100'000));
}

}  // namespace

}  // namespace snapshot_writer_test
