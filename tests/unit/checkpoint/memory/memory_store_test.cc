#include "imbrex/checkpoint/memory/memory_store.h"

#include <gtest/gtest.h>

#include "imbrex/checkpoint/memory/image_contents.h"
#include "imbrex/checkpoint/memory/memory_sink.h"
#include "imbrex/checkpoint/snapshot_error.h"
#include "imbrex/checkpoint/snapshot_writer.h"

namespace memory_store_test {

namespace {

using namespace imbrex;

TEST(memory_store, keeps_the_committed_one_until_the_next_is_committed) {
  memory_store store;
  store.begin(1).is_whole = true;
  store.commit(1);
  store.begin(2);
  EXPECT_NE(store.find(1), nullptr);
  EXPECT_EQ(store.facts(0).size(), 1U);  // the second is not whole
  store.drop(2);
  EXPECT_EQ(store.largest_number(), 1U);
  store.begin(2).is_whole = true;
  EXPECT_EQ(store.facts(0).size(), 2U);
  store.commit(2);
  EXPECT_EQ(store.find(1), nullptr);
  EXPECT_NE(store.find(2), nullptr);
  store.keep_only(0);
  EXPECT_TRUE(store.facts(0).empty());
}

TEST(memory_store, uses_memory_again) {
  memory_store store;
  store.begin(1).image.resize(1000);
  const std::byte* const first = store.find(1)->image.data();
  store.commit(1);
  store.begin(2);
  store.commit(2);
  EXPECT_EQ(store.begin(3).image.data(), first);
}

std::vector<std::byte> bytes_of(const char* text) {
  std::vector<std::byte> all;
  for (; *text != 0; ++text) all.push_back(static_cast<std::byte>(*text));
  return all;
}

TEST(image_contents, are_what_was_written) {
  std::vector<std::byte> image;
  memory_sink sink(image, 100);
  snapshot_writer writer(sink, 3);
  writer.add(0, bytes_of("a"), bytes_of("told"));
  writer.add(1, bytes_of("b"), bytes_of("not told"));
  writer.add(0, bytes_of(""), bytes_of("told, too"));
  const rank_file_facts facts = writer.finish();
  EXPECT_EQ(facts.bytes, image.size());
  const auto is_told = [](const record_view& r) { return r.kind == 0; };
  const image_contents c = contents_of(image, 3, facts.index_crc, is_told);
  const std::vector<record_view> records = records_of(c);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(c.payloads[0], bytes_of("told"));
  EXPECT_TRUE(c.payloads[1].empty());
  EXPECT_EQ(c.payloads[2], bytes_of("told, too"));
  check_payload(records[1], std::span(image).subspan(records[1].offset, records[1].bytes), "it");
  image[records[1].offset] ^= std::byte{1};
  EXPECT_THROW(check_payload(records[1], std::span(image).subspan(records[1].offset, records[1].bytes), "it"),
               snapshot_error);
  EXPECT_THROW(contents_of(image, 2, facts.index_crc, is_told), snapshot_error);
  image[image.size() - 60] ^= std::byte{1};
  EXPECT_THROW(contents_of(image, 3, facts.index_crc, is_told), snapshot_error);
}

}  // namespace

}  // namespace memory_store_test
