#include "imbrex/balance/balance_record.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "imbrex/balance/example_problem.h"
#include "imbrex/base/error.h"
#include "unit/balance/small_problems.h"

namespace balance_record_test {

using namespace imbrex;
using testing::HasSubstr;

namespace {

void expect_same(const balance_problem& a, const balance_problem& b) {
  ASSERT_EQ(a.elements.size(), b.elements.size());
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    const balance_element& x = a.elements[i];
    const balance_element& y = b.elements[i];
    EXPECT_EQ(x.host_seconds, y.host_seconds);
    EXPECT_EQ(x.gpu_seconds, y.gpu_seconds);
    EXPECT_EQ(x.host_bytes, y.host_bytes);
    EXPECT_EQ(x.device_bytes, y.device_bytes);
    EXPECT_EQ(x.move_bytes, y.move_bytes);
    EXPECT_EQ(x.pe, y.pe);
    EXPECT_EQ(x.pinned, y.pinned);
  }
  ASSERT_EQ(a.places.size(), b.places.size());
  for (std::size_t i = 0; i < a.places.size(); ++i) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(a.num_dimensions); ++d)
      EXPECT_EQ(a.places[i][d], b.places[i][d]);
  }
  EXPECT_TRUE(a.places.empty() || a.num_dimensions == b.num_dimensions);
  EXPECT_EQ(a.communication.partner, b.communication.partner);
  EXPECT_EQ(a.communication.bytes, b.communication.bytes);
  ASSERT_EQ(a.pes.size(), b.pes.size());
  for (std::size_t i = 0; i < a.pes.size(); ++i) {
    EXPECT_EQ(a.pes[i].rank, b.pes[i].rank);
    EXPECT_EQ(a.pes[i].node, b.pes[i].node);
    EXPECT_EQ(a.pes[i].gpu, b.pes[i].gpu);
    EXPECT_EQ(a.pes[i].rate, b.pes[i].rate);
    EXPECT_EQ(a.pes[i].background_seconds, b.pes[i].background_seconds);
  }
  ASSERT_EQ(a.gpus.size(), b.gpus.size());
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    EXPECT_EQ(a.gpus[i].rate, b.gpus[i].rate);
    EXPECT_EQ(a.gpus[i].background_seconds, b.gpus[i].background_seconds);
    EXPECT_EQ(a.gpus[i].memory_bytes, b.gpus[i].memory_bytes);
  }
}

struct balance_record_test : testing::Test {
  balance_record_test()
      : file(testing::TempDir() + "imbrex_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
             ".jsonl") {
    std::filesystem::remove(file);
  }
  ~balance_record_test() override { std::filesystem::remove(file); }

  std::string message(const std::string& text) const {
    std::ofstream(file) << text;
    try {
      balance_record_reader in(file);
      while (in.next()) {
      }
    } catch (const config_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  std::string file;
};

TEST_F(balance_record_test, reads_the_same_bits_as_were_written) {
  std::vector<balance_record> all;
  all.reserve(41);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    all.push_back({"of \"seed\"\n" + std::to_string(seed), static_cast<std::int64_t>(seed) - 3,
                   small_problems::random_problem(seed, {12, 5, true, true, true, true})});
  }
  example_options o;
  o.extents = {5, 4, 3};
  all.push_back({"example", 7, example_problem(o)});
  {
    balance_record_writer out(file);
    for (const balance_record& r : all) out.write(r);
  }
  balance_record_reader in(file);
  for (const balance_record& r : all) {
    const auto read = in.next();
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->program, r.program);
    EXPECT_EQ(read->step, r.step);
    expect_same(r.problem, read->problem);
  }
  EXPECT_FALSE(in.next().has_value());
}

TEST_F(balance_record_test, reads_what_a_person_writes) {
  std::ofstream(file) << R"({"imbrex_balance": 1, "pes": 1, "elements": 2}

{"pe": 0}
{"element": 0, "pe": 0, "host_seconds": 2, "exchanges": [[1, 10]]}
{"element": 1, "pe": 0, "host_seconds": 1.5e0, "exchanges": [[0, 5]]}
)";
  const auto r = balance_record_reader(file).next();
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->problem.elements[0].host_seconds, 2);
  EXPECT_THAT(r->problem.communication.bytes, testing::ElementsAre(15, 15)) << "both ways";
}

TEST_F(balance_record_test, names_file_and_line_of_what_is_wrong) {
  const std::string head = R"({"imbrex_balance":1,"gpus":1,"pes":1,"elements":1})";
  const std::string gpu = "\n{\"gpu\":0}";
  const std::string pe = "\n{\"pe\":0,\"gpu\":0}";
  const auto expect = [&](const std::string& text, const std::string& line, const std::string& says) {
    EXPECT_THAT(message(text), testing::AllOf(HasSubstr(file + ":" + line + ":"), HasSubstr(says)));
  };
  expect("nonsense\n", "1", "'nonsense' is no JSON object");
  expect("[1]\n", "1", "no JSON object");
  expect("{\"pes\":1}\n", "1", "a record begins with");
  expect("{\"imbrex_balance\":2}\n", "1", "has version 2, this imbrex reads 1");
  expect("{\"imbrex_balance\":1,\"gpus\":0,\"pes\":1}\n", "1", "elements is null");
  expect("{\"imbrex_balance\":1,\"gpus\":-1,\"pes\":1,\"elements\":1}\n", "1", "gpus is -1");
  expect(head, "1", "the file ends after 0 of the record's 1 gpus");
  expect(head + gpu, "2", "the file ends after 0 of the record's 1 pes");
  expect(head + pe, "2", "gpu 0 of 1 should be here");
  expect(head + "\n{\"gpu\":0,\"rate\":\"fast\"}", "2", "rate is \"fast\", not a number");
  expect(head + "\n{\"gpu\":0,\"speed\":1}", "2", "a GPU has no 'speed'");
  expect(head + gpu + "\n{\"pe\":1}", "3", "pe 0 of 1 should be here");
  expect(head + gpu + "\n{\"pe\":0,\"rank\":1.5}", "3", "rank is 1.5, not a whole number");
  expect(head + gpu + "\n{\"pe\":0,\"cores\":1}", "3", "a PE has no 'cores'");
  expect(head + gpu + pe + "\n{\"element\":0}", "4", "on no pe");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":1}", "4", "pe is 1, not a whole number of 0 to 0");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":0,\"weight\":1}", "4", "weight is 1, which an element has not");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":0,\"place\":[1]}", "4", "place is [1], which an element has not");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":0,\"host_seconds\":-1}", "4", "host_seconds is -1");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":0,\"device_bytes\":1.5}", "4", "device_bytes is 1.5");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":0,\"exchanges\":[[1,2]]}", "4", "a partner is 1");
  expect(head + gpu + pe + "\n{\"element\":0,\"pe\":0,\"exchanges\":[7]}", "4", "exchanges has 7");
  expect(head + gpu + "\n{\"pe\":0}\n{\"element\":0,\"pe\":0,\"gpu_seconds\":1}", "1",
         "in the record that begins here element 0 needs a GPU");
  const std::string with_places = R"({"imbrex_balance":1,"gpus":0,"pes":1,"elements":1,"dimensions":2})";
  expect(with_places + "\n{\"pe\":0}\n{\"element\":0,\"pe\":0}", "3", "has no place, but the record has 2 dimensions");
  expect(with_places + "\n{\"pe\":0}\n{\"element\":0,\"pe\":0,\"place\":[1]}", "3", "place is [1], not 2 coordinates");
}

TEST_F(balance_record_test, does_not_believe_a_head_that_promises_much) {
  EXPECT_THAT(message("{\"imbrex_balance\":1,\"gpus\":0,\"pes\":1,\"elements\":2147483647}\n{\"pe\":0}\n"),
              HasSubstr("the file ends after 0 of the record's 2147483647 elements"));
}

TEST_F(balance_record_test, says_which_file_cannot_be_used) {
  EXPECT_THROW(balance_record_reader("no/such/file"), config_error);
  const std::string folder = testing::TempDir();
  EXPECT_THROW(balance_record_reader{folder}, config_error);
  EXPECT_THROW(balance_record_writer("no/such/folder/file"), config_error);
  EXPECT_EQ(message(""), "nothing was thrown") << "an empty file has no records";
}

TEST_F(balance_record_test, survives_bytes_that_mean_nothing) {
  example_options o;
  o.extents = {3, 2, 2};
  o.num_pes = 2;
  {
    balance_record_writer out(file);
    out.write({"example", 1, example_problem(o)});
  }
  std::ifstream in(file);
  const std::string sound((std::istreambuf_iterator<char>(in)), {});
  in.close();
  random_sequence r(11);
  for (int i = 0; i < 400; ++i) {
    std::string text = sound;
    for (int k = small_problems::up_to(r, 3); k >= 0; --k) text[r.below(text.size())] = static_cast<char>(r.below(256));
    message(text);  // read, or refused
  }
}

}  // namespace

}  // namespace balance_record_test
