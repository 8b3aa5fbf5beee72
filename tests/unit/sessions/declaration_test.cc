#include "base/declaration.h"

#include <gtest/gtest.h>

namespace imbrex::sessions {

namespace declaration_test {

namespace {

TEST(Declaration, FourPatterns) {
  declaration said;
  ASSERT_TRUE(parse_pattern("MPI_CPU_TO_GPU", said));
  EXPECT_EQ(said.sent, place::host);
  EXPECT_EQ(said.received, place::device);
  ASSERT_TRUE(parse_pattern("MPI_GPU_TO_CPU", said));
  EXPECT_STREQ(name_of(said), "MPI_GPU_TO_CPU");
  EXPECT_FALSE(parse_pattern("MPI_GPU_TO_TPU", said));
  EXPECT_FALSE(parse_pattern("mpi_cpu_to_cpu", said));
  EXPECT_FALSE(parse_pattern("", said));
}

TEST(Declaration, KindsOfOnePlaceDeclare) {
  char unknown[32];
  for (const auto& [text, where] : {std::pair{"system", place::host},
                                    {"system,mpi", place::host},
                                    {" system , cuda:host", place::host},
                                    {"cuda:device", place::device},
                                    {"cuda:device,rocm:device", place::device},
                                    {"system,cuda:device", place::unknown},
                                    {"cuda:device,system", place::unknown},
                                    {"cuda", place::unknown},
                                    {"cuda:managed,system", place::unknown}}) {
    declaration said;
    ASSERT_TRUE(parse_kinds(text, said, unknown, sizeof unknown)) << text;
    EXPECT_EQ(said.sent, where) << text;
    EXPECT_EQ(said.received, where) << text;
  }
}

TEST(Declaration, UnknownKindsAreNamed) {
  char unknown[32];
  declaration said;
  EXPECT_FALSE(parse_kinds("system,cuda:cache", said, unknown, sizeof unknown));
  EXPECT_STREQ(unknown, "cuda:cache");
  EXPECT_FALSE(parse_kinds("system,", said, unknown, sizeof unknown));
  EXPECT_FALSE(parse_kinds("", said, unknown, sizeof unknown));
}

TEST(Declaration, FitsIntoAByte) {
  for (place sent : {place::unknown, place::host, place::device}) {
    for (bool from_session : {false, true}) {
      const declaration said{sent, place::host, from_session};
      const declaration back = declaration::unpacked(said.packed());
      EXPECT_TRUE(back.same_places(said));
      EXPECT_EQ(back.from_session, from_session);
    }
  }
}

}  // namespace
}  // namespace declaration_test

}  // namespace imbrex::sessions
