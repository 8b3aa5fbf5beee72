#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "imbrex/balance/balance_record.h"
#include "imbrex/base/build_config.h"
#include "unit/object/job.h"

namespace exchanges_test {

/// Who exchanges how much with whom, as a job counts it while it runs.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

constexpr int elements = 16;
constexpr int steps = 6;
constexpr int steps_of_interval = 2;
constexpr std::size_t doubles = 40;
constexpr std::size_t ints = 25;

/// Sends through a channel to its right neighbour, and by messages to the element half the array away, and to a
/// singleton that nobody asks for.
struct talker : ix::chare<talker, ix::index1d> {
  talker() : out_(on_host(), ints), in_(on_host(), ints) {
    const int n = extent().x, i = index().x;
    to_ = ix::channel<int>(*this, array()[(i + 1) % n], 0, 1);
    from_ = ix::channel<int>(*this, array()[(i + n - 1) % n], 1, 0);
  }
  ix::task<> run() {
    ix::stream_set& s = streams();
    for (int k = 0; k < steps; ++k) {
      array()[(index().x + extent().x / 2) % extent().x].send<&talker::heard>(k, std::vector<double>(doubles));
      const auto sent = to_.send(out_, s.pack);
      co_await from_.recv(in_, s.unpack);
      co_await heard(k);
      co_await sent;
      // The first quarter is dear. Asleep, which others on the same core do not prolong as they would computing.
      std::this_thread::sleep_for(std::chrono::microseconds(index().x < extent().x / 4 ? 2000 : 500));
      if (k % steps_of_interval == steps_of_interval - 1) co_await ix::balance(*this);
    }
    contribute(0, ix::sum);
  }
  ix::when<int, std::vector<double>> heard;

 private:
  ix::buffer<int> out_, in_;
  ix::channel<int> to_, from_;
};

ix::task<int> start(ix::runtime& rt) {
  const auto a = rt.create_array<talker>(ix::index1d(elements));
  a.broadcast<&talker::run>();
  co_await a.reduction<int>();
  co_return 0;
}

std::vector<ix::balance_problem> problems_of(const job_shape& s, const std::string& strategy) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "_exchanges_" + strategy + ".jsonl";
  imbrex_test::command_line line(
      s, {"--imbrex-balance=" + strategy, "--imbrex-balance-every-ms=0", "--imbrex-balance-record=" + file});
  EXPECT_EQ(ix::run(line.count(), line.values(), start), 0);
  std::vector<ix::balance_problem> all;
  ix::balance_record_reader reader(file);
  while (auto record = reader.next()) all.push_back(std::move(record->problem));
  std::filesystem::remove(file);
  return all;
}

/// By place in the array.
std::map<std::pair<int, int>, double> exchanges_of(const ix::balance_problem& p) {
  std::map<std::pair<int, int>, double> all;
  const auto index = [&](int e) { return static_cast<int>(p.places[static_cast<std::size_t>(e)][0] * elements); };
  for (std::size_t i = 0; i < p.elements.size(); ++i) {
    for (std::size_t k = p.communication.first[i]; k < p.communication.first[i + 1]; ++k)
      all[{index(static_cast<int>(i)), index(p.communication.partner[k])}] += p.communication.bytes[k];
  }
  return all;
}

std::map<std::pair<int, int>, double> expected() {
  const double message = static_cast<double>(sizeof(int) + ix::serialized_size(std::vector<double>(doubles)));
  std::map<std::pair<int, int>, double> all;
  for (int i = 0; i < elements; ++i) {
    for (const int by : {-1, 1}) all[{i, (i + elements + by) % elements}] += steps_of_interval * ints * sizeof(int);
    all[{i, (i + elements / 2) % elements}] += 2 * steps_of_interval * message;
  }
  return all;
}

TEST(exchanges, are_counted_byte_for_byte_wherever_elements_are) {
  for (const job_shape& s : {job_shape{1, 1}, {3, 1}, {1, 2}, {2, 2}, {2, 3, 5}}) {
    SCOPED_TRACE(to_text(s));
    const auto problems = problems_of(s, "refine");
    ASSERT_EQ(problems.size(), steps / steps_of_interval);
    for (const ix::balance_problem& p : problems) {
      ASSERT_FALSE(p.communication.empty());
      EXPECT_EQ(exchanges_of(p), expected());
    }
  }
}

TEST(exchanges, bring_those_together_that_talk_much) {
  if (!IMBREX_HAVE_METIS) GTEST_SKIP() << "this build has no METIS: " IMBREX_NOTE_METIS;
  double before = 0, after = 1;
  for (int attempt = 0; attempt < 10 && after > 0.6 * before; ++attempt) {  // what is measured is the time that passes
    const auto problems = problems_of({2, 1}, "graph");
    before = ix::judge(problems.front(), {}).bytes_between_pes;
    after = ix::judge(problems.back(), {}).bytes_between_pes;
  }
  EXPECT_LE(after, 0.6 * before);
}

}  // namespace

}  // namespace exchanges_test
