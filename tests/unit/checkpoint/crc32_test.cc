#include "imbrex/checkpoint/crc32.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"

namespace crc32_test {

namespace {

using imbrex::crc32;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// From the definition: a bit at a time, reflected, polynomial 0xedb88320.
std::uint32_t slow_crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0u;
  for (const std::byte b : bytes) {
    crc ^= static_cast<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

struct crc32_sums : testing::Test {
  void SetUp() override {
    if (imbrex::crc32_library() == std::string("none")) GTEST_SKIP() << "this build has neither libdeflate nor zlib";
  }
};

TEST_F(crc32_sums, are_the_known_ones) {
  EXPECT_EQ(crc32(0, {}), 0u);
  EXPECT_EQ(crc32(0, bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(5, {}), 5u);
}

TEST_F(crc32_sums, are_those_of_the_definition_at_any_length_and_place) {
  std::string text(3000, ' ');
  imbrex::random_sequence numbers(1);
  for (char& c : text) c = static_cast<char>(numbers.next());
  for (std::size_t n = 0; n < 2900; n = n * 5 / 4 + 1) {
    const auto part = bytes_of(text).subspan(n % 17, n);
    EXPECT_EQ(crc32(0, part), slow_crc32(part));
  }
}

TEST_F(crc32_sums, are_carried_on) {
  const std::string text(1000, 'x');
  const auto all = bytes_of(text);
  for (const std::size_t cut : {0, 1, 15, 500, 1000}) {
    EXPECT_EQ(crc32(crc32(0, all.first(cut)), all.subspan(cut)), crc32(0, all));
  }
}

TEST(crc32_without_a_library, says_what_to_install) {
  if (imbrex::crc32_library() != std::string("none")) GTEST_SKIP() << "this build has " << imbrex::crc32_library();
  try {
    crc32(0, {});
    FAIL();
  } catch (const imbrex::not_built& e) {
    EXPECT_NE(std::string(e.what()).find("install libdeflate-dev"), std::string::npos) << e.what();
  }
}

}  // namespace

}  // namespace crc32_test
