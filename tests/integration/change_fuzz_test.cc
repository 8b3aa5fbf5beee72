#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/object/job.h"
#include "unit/object/moving/moving_ring.h"
#include "unit/object/moving/tournament.h"

/// Elements that move, end and are made while broadcasts, sends, reductions, sections, channels and failures are under
/// way, under many seeds: which also choose the number of PEs and ranks, the schedule, the delays of messages and
/// whether they overtake each other. Every element keeps account of what it hears; the main chare knows what it should.
/// IMBREX_FUZZ_SEEDS=first,last runs other seeds.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

constexpr int capacity = 16;  // indices of elements
constexpr int rounds = 6;

job_shape shape_for(std::uint64_t seed) {
  static const std::vector<job_shape> shapes{
      {1, 1},
      {2, 1},
      {3, 1},
      {5, 1},
      {1, 2, 0, 20},
      {2, 2},
      {2, 3, 0, 20},
      {1, 5, 0, 10},
      {7, 1, 0, 0, true},
      {3, 2, 0, 20, true},
#if IMBREX_HAVE_TOML
      {1, 6, 0, 0, false, true},
      {3, 3, 0, 0, false, true},
#endif
  };
  job_shape s = shapes[seed % shapes.size()];
  s.seed = seed % 3 == 0 ? 0 : seed;  // a third of them in the order in which things are posted
  return s;
}

/// The broadcasts of one speaker must be heard without a gap, and to the last.
struct account {
  int first = 0;
  int last = 0;
  int errors = 0;
  void hear(int number) {
    if (last == 0) {
      first = number;
    } else if (number != last + 1) {
      ++errors;
    }
    last = number;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & first & last & errors;
  }
};

struct wanderer : ix::chare<wanderer, ix::index1d> {
  using members = ix::section_proxy<wanderer>;

  wanderer() = default;
  explicit wanderer(int heard_before) : heard_before_(heard_before) {}

  /// Number `number` of the main chare's. Contributes, and moves by chance.
  void step(int number, std::uint64_t seed) {
    from_main_.hear(number);
    contribute(1, ix::sum);
    wander(ix::mix(seed + static_cast<std::uint64_t>(number)));
  }
  void news(int speaker, int number) {
    if (static_cast<int>(from_speakers_.size()) <= speaker)
      from_speakers_.resize(static_cast<std::size_t>(speaker) + 1);
    from_speakers_[static_cast<std::size_t>(speaker)].hear(number);
  }
  void visit(members s, std::uint64_t seed) {
    ++visits_;
    contribute(s, 1, ix::sum);
    wander(ix::mix(seed + 77));
  }
  /// Sent after so many of the main chare's broadcasts.
  void letter(int number, bool in_order) {
    ++letters_;
    if (in_order && from_main_.last < number && number > heard_before_) ++late_;
  }
  void fail() { throw std::runtime_error("as it was told"); }

  struct report {
    account from_main;
    std::vector<account> from_speakers;
    int heard_before = 0;
    int letters = 0;
    int visits = 0;
    int late = 0;
    template <class Archive>
    void serialize(Archive& ar) {
      ar & from_main & from_speakers & heard_before & letters & visits & late;
    }
  };
  report tell() { return {from_main_, from_speakers_, heard_before_, letters_, visits_, late_}; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & from_main_ & from_speakers_ & heard_before_ & letters_ & visits_ & late_;
  }

 private:
  void wander(std::uint64_t seed) {
    const std::uint64_t r = ix::mix(seed * 31 + static_cast<std::uint64_t>(index().x));
    if (r % 3 == 0) migrate_to(static_cast<int>(r / 8 % static_cast<std::uint64_t>(num_pes())));
  }

  account from_main_;
  std::vector<account> from_speakers_;
  int heard_before_ = 0;
  int letters_ = 0;
  int visits_ = 0;
  int late_ = 0;
};

/// One on each PE: broadcasts of its own, from the middle of the others'.
struct speaker : ix::chare<speaker, ix::index1d> {
  void speak(ix::array_proxy<wanderer> to, int count) {
    for (int k = 0; k < count; ++k) to.broadcast<&wanderer::news>(index().x, ++number_);
  }
  int said() { return number_; }

 private:
  int number_ = 0;
};

/// Channels round a ring, meanwhile, of elements that move while they wait: for messages, devices, memory that they
/// have lent, answers and each other.
struct link : ix::chare<link, ix::index1d> {
  link() : out_(on_host(), 32), in_(on_host(), 32), secret_(std::make_unique<int>(index().x)) {
    const int n = extent().x;
    if (n == 1) return;
    to_ = ix::channel<int>(*this, array()[(index().x + 1) % n], 0, 1);
    from_ = ix::channel<int>(*this, array()[(index().x + n - 1) % n], 1, 0);
  }
  ix::task<> run(int count, std::uint64_t seed) {
    int errors = 0;
    const int n = extent().x;
    ix::stream_set& s = streams();
    const int* const where_it_lies = secret_.get();
    for (int k = 0; n > 1 && k < count; ++k) {
      const std::uint64_t r = ix::mix(seed + static_cast<std::uint64_t>(100 * k + index().x));
      if (r % 2 == 0) migrate_to(static_cast<int>(r / 8 % static_cast<std::uint64_t>(num_pes())));
      std::fill_n(out_.data(), out_.size(), 100 * k + index().x);
      const auto sent = to_.send(out_, s.pack);
      co_await from_.recv(in_, s.unpack);
      s.compute.after(s.unpack);
      s.compute.call("look", [in = in_.data(), wanted = 100 * k + (index().x + n - 1) % n, &errors] {
        errors += in[31] != wanted;
      });
      if (r / 2 % 2 == 0) co_await s.compute.done();
      if (r / 4 % 4 == 0) {
        const int twice = co_await array()[(index().x + 2) % n].template call<&link::doubled>(k);
        errors += twice != 2 * k;
      }
      if (k % 4 == 0) {
        const int sum = co_await allreduce(k, ix::sum);
        errors += sum != n * k;
      }
      co_await sent;
      s.unpack.after(s.compute);
    }
    co_await s.compute.done();
    errors += where_it_lies != secret_.get() || *secret_ != index().x;
    contribute(errors, ix::sum);
  }
  ix::task<int> doubled(int k) {
    co_await streams().compute.done();
    co_return 2 * k;
  }
  template <class Archive>
  void serialize(Archive&) {}  // never done while its coroutine runs, which nobody could call again

 private:
  ix::buffer<int> out_, in_;
  std::unique_ptr<int> secret_;
  ix::channel<int> to_, from_;
};

/// What the main chare knows, and does.
class driver {
 public:
  driver(ix::runtime& rt, std::uint64_t seed, bool in_order)
      : rt_(rt), random_(seed), seed_(seed), in_order_(in_order), array_(rt.create_array<wanderer>(shape())) {}

  ix::task<int> run(bool fails) {
    const auto speakers = rt_.create_group<speaker>();
    const auto links = rt_.create_array<link>(ix::index1d(5));
    links.broadcast<&link::run>(12, seed_);
    for (int i = 0; i < 6; ++i) co_await insert(i);
    for (int round = 0; round < rounds; ++round) {
      speakers.broadcast<&speaker::speak>(array_, 1 + static_cast<int>(random_.below(2)));
      co_await change();
      const std::vector<ix::index1d> chosen = choose();
      const auto section = array_.section(chosen);
      const int num_steps = 1 + static_cast<int>(random_.below(3));
      for (int k = 0; k < num_steps; ++k) step();
      section.broadcast<&wanderer::visit>(section, random_.next());
      if (fails && round == 3) array_[chosen.front()].send<&wanderer::fail>();
      for (int k = 0; k < num_steps; ++k) {
        const int contributed = co_await array_.reduction<int>();
        EXPECT_GE(contributed, static_cast<int>(alive_.size())) << "in round " << round;
        EXPECT_LE(contributed, static_cast<int>(alive_.size()) + num_ending_) << "in round " << round;
      }
      const int visited = co_await section.reduction<int>();
      EXPECT_EQ(visited, static_cast<int>(chosen.size())) << "in round " << round;
      section.free();
      if (random_.below(3) == 0) co_await rest();
    }
    const int errors = co_await links.reduction<int>();
    EXPECT_EQ(errors, 0);
    co_await rt_.quiescence();
    co_await check(speakers);
    co_return 0;
  }

 private:
  struct known {
    int heard_before = 0;
    int letters = 0;
    int visits = 0;
  };

  static ix::array_shape<ix::index1d, ix::map::hash> shape() { return ix::empty_array<ix::index1d>(); }

  ix::task<> insert(int i) {
    alive_[i] = {num_steps_, 0, 0};
    const auto pe = static_cast<int>(random_.below(static_cast<std::uint64_t>(rt_.num_pes())));
    co_await array_.insert_on(pe, i, num_steps_);
  }

  /// Elements end and begin, between the rounds, in the middle of whatever is still on its way.
  ix::task<> change() {
    for (int k = 0; k < 2; ++k) {
      const auto i = static_cast<int>(random_.below(capacity));
      if (alive_.count(i) == 0) {
        co_await insert(i);
      } else if (alive_.size() > 3) {
        co_await until_heard(i);
        array_[i].erase();
        alive_.erase(i);
        ++num_ending_;
        if (random_.below(2) == 0) co_await insert(i);  // again, at once
      }
    }
    if (random_.below(2) == 0) co_await rest();
  }

  /// What was sent to element `i` before has come; later it would come to the next element of this index.
  ix::task<> until_heard(int i) {
    for (int letters = -1; letters != alive_.at(i).letters;) {
      const wanderer::report r = co_await array_[i].call<&wanderer::tell>();
      letters = r.letters;
    }
  }

  ix::task<> rest() {
    co_await rt_.quiescence();
    num_ending_ = 0;
  }

  void step() {
    array_.broadcast<&wanderer::step>(++num_steps_, seed_);
    for (auto& [i, what] : alive_) {
      if (random_.below(2) == 0) continue;
      array_[i].send<&wanderer::letter>(num_steps_, in_order_);
      ++what.letters;
    }
  }

  std::vector<ix::index1d> choose() {
    std::vector<ix::index1d> chosen;
    for (auto& [i, what] : alive_) {
      if (!chosen.empty() && random_.below(2) == 0) continue;
      chosen.emplace_back(i);
      ++what.visits;
    }
    return chosen;
  }

  ix::task<> check(ix::array_proxy<speaker> speakers) {
    std::vector<int> said;
    for (int p = 0; p < rt_.num_pes(); ++p) said.push_back(co_await speakers[p].call<&speaker::said>());
    for (const auto& [i, what] : alive_) {
      const wanderer::report r = co_await array_[i].call<&wanderer::tell>();
      SCOPED_TRACE(fmt::format("element {}", i));
      EXPECT_EQ(r.letters, what.letters);
      EXPECT_EQ(r.visits, what.visits);
      EXPECT_EQ(r.late, 0);
      EXPECT_EQ(r.from_main.errors, 0);
      if (num_steps_ > what.heard_before) {
        EXPECT_EQ(r.from_main.last, num_steps_);
        EXPECT_LE(r.from_main.first, what.heard_before + 1);
      }
      for (std::size_t p = 0; p < r.from_speakers.size(); ++p) {
        if (r.from_speakers[p].last == 0) continue;
        EXPECT_EQ(r.from_speakers[p].errors, 0);
        EXPECT_EQ(r.from_speakers[p].last, said[p]);
      }
    }
  }

  ix::runtime& rt_;
  ix::random_sequence random_;
  const std::uint64_t seed_;
  const bool in_order_;
  ix::array_proxy<wanderer> array_;
  std::map<int, known> alive_;
  int num_steps_ = 0;
  int num_ending_ = 0;  // erased, and perhaps still there
};

/// Meanwhile chares cross processes with their channels open.
template <imbrex_test::opening H>
ix::task<> rings_cross(ix::runtime* rt, std::uint64_t seed) {
  using ring = imbrex_test::moving_ring<H>;
  const int n = 1 + static_cast<int>(seed / 3 % 6);
  auto gone_round = imbrex_test::go_round(rt->create_array<ring>(ix::index1d(n)), n, 15, seed, 2);
  const imbrex_test::ring_counts c = co_await std::move(gone_round);
  EXPECT_EQ(c.errors, 0);
  if (rt->num_ranks() > 1 && n > 2) {
    EXPECT_GT(c.crossings, 0);
  }
}

ix::task<> rings_cross(ix::runtime* rt, std::uint64_t seed) {
  using imbrex_test::opening;
  switch (seed % 3) {
    case 0: return rings_cross<opening::by_constructor>(rt, seed);
    case 1: return rings_cross<opening::by_serialize>(rt, seed);
    default: return rings_cross<opening::by_coroutine>(rt, seed);
  }
}

/// And some make channels anew for each exchange, at one port.
ix::task<> players_meet(ix::runtime* rt, std::uint64_t seed) {
  const int n = 2 * (1 + static_cast<int>(seed / 5 % 3));
  auto played =
      imbrex_test::play_all(rt->create_array<imbrex_test::player>(ix::index1d(n)), n, 15, seed, seed % 2 == 0);
  const imbrex_test::tournament_counts c = co_await std::move(played);
  EXPECT_EQ(c.errors, 0);
}

ix::task<int> everything_changes(ix::runtime& rt, std::uint64_t seed, bool in_order, bool fails) {
  driver d(rt, seed, in_order);
  auto all = ix::when_all(d.run(fails), rings_cross(&rt, seed), players_meet(&rt, seed));
  const auto results = co_await std::move(all);
  co_return std::get<0>(results);
}

std::pair<std::uint64_t, std::uint64_t> seeds(std::uint64_t first, std::uint64_t last) {
  if (const char* const text = std::getenv("IMBREX_FUZZ_SEEDS"); text != nullptr) {
    char* rest = nullptr;
    first = std::strtoull(text, &rest, 10);
    last = *rest == ',' ? std::strtoull(rest + 1, nullptr, 10) : first;
  }
  return {first, last};
}

/// Loads are balanced meanwhile, which moves elements that nobody has told to.
class balanced_by {
 public:
  explicit balanced_by(std::uint64_t seed) {
    static constexpr const char* strategies[] = {"greedy", "refine", "diffusion", "hierarchical"};
    if (seed % 3 != 1) return;
    setenv("IMBREX_BALANCE", strategies[seed / 3 % 4], 1);
    setenv("IMBREX_BALANCE_EVERY_MS", "1", 1);
  }
  ~balanced_by() {
    unsetenv("IMBREX_BALANCE");
    unsetenv("IMBREX_BALANCE_EVERY_MS");
  }
  balanced_by(const balanced_by&) = delete;
  balanced_by& operator=(const balanced_by&) = delete;
};

void run_seeds(std::uint64_t first, std::uint64_t last) {
  const auto [begin, end] = seeds(first, last);
  for (std::uint64_t seed = begin; seed <= end; ++seed) {
    const job_shape s = shape_for(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, to_text(s)));
    const bool fails = seed % 10 == 7;
    const balanced_by balancing(seed);
    const bool in_order = s.seed == 0 && s.delay_us == 0;
    const auto [code, errors] = imbrex_test::run_and_listen(s, everything_changes, seed, in_order, fails);
    EXPECT_EQ(code, fails ? 70 : 0) << errors;
    if (fails) {
      EXPECT_THAT(errors, testing::HasSubstr("threw: as it was told"));
    }
    if (testing::Test::HasFailure()) return;
  }
}

// Tests of their own, so that several run at a time.
TEST(change, loses_nothing_under_seeds_1_to_250) { run_seeds(1, 250); }
TEST(change, loses_nothing_under_seeds_251_to_500) { run_seeds(251, 500); }
TEST(change, loses_nothing_under_seeds_501_to_750) { run_seeds(501, 750); }
TEST(change, loses_nothing_under_seeds_751_to_1000) { run_seeds(751, 1000); }
// Answers that come with each step of a PE, on which messages wait that are less urgent.
TEST(change, stops_nothing_by_asking_again_and_again) {
  for (const std::uint64_t seed : {2379, 2628, 2898}) run_seeds(seed, seed);
}

}  // namespace
