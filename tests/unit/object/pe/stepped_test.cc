// All PEs of a rank run by one thread, a step at a time.
#include <thread>

#include "unit/object/job.h"

namespace stepped_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_job_with;

/// Where and in which order methods ran.
struct history {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  std::uint64_t result = 0;
};
history* at_work = nullptr;

/// Cells that pass values round, wait, reduce, broadcast and move.
struct cell : ix::chare<cell, ix::index1d> {
  ix::task<> run(int rounds) {
    value = static_cast<std::uint64_t>(index()) * 2654435761u + 1;
    for (int k = 0; k < rounds; ++k) {
      note();
      array()[(index() * 7 + 1) % extent()].send<&cell::come>(k, value);
      auto waits = arrived(k);
      auto [from] = co_await waits;
      value = value * 31 + from;
      if (k % 3 == 2) {
        value += co_await allreduce(value, ix::sum);
      }
    }
    contribute(value, ix::bit_xor);
  }
  void come(int k, std::uint64_t v) { array()[index()].send<&cell::arrived>(k, v); }
  void move_on() { migrate_to((pe() + 1) % num_pes()); }
  void add(std::uint64_t v) { value += v; }
  void tell() { contribute(value, ix::sum); }
  ix::when<int, std::uint64_t> arrived;
  std::uint64_t value = 0;

  void note() const {
    if (at_work == nullptr) return;
    at_work->order.push_back(index());
    at_work->threads.push_back(std::this_thread::get_id());
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & value & arrived;
  }
};

ix::task<int> program(ix::runtime& rt, std::vector<std::string>) {
  auto cells = rt.create_array<cell>(ix::index1d(200));
  auto sums = cells.reduction<std::uint64_t>();
  cells.broadcast<&cell::run>(7);
  const std::uint64_t first = co_await sums;
  co_await rt.quiescence();
  cells.broadcast<&cell::move_on>();
  co_await rt.quiescence();
  cells.broadcast<&cell::add>(std::uint64_t{5});
  auto sums_again = cells.reduction<std::uint64_t>();
  cells.broadcast<&cell::tell>();
  const std::uint64_t second = co_await sums_again;
  if (at_work != nullptr) at_work->result = first * 31 + second;
  co_return 0;
}

history run(const job_shape& s) {
  history h;
  at_work = &h;
  EXPECT_EQ(run_job_with(s, program), 0) << to_text(s);
  at_work = nullptr;
  return h;
}

TEST(stepped, sixty_four_pes_of_one_thread_equal_sixty_four_threads) {
  struct outcome {
    static ix::task<int> main(ix::runtime& rt, std::vector<std::string>, std::uint64_t* to) {
      auto cells = rt.create_array<cell>(ix::index1d(200));
      auto sums = cells.reduction<std::uint64_t>();
      cells.broadcast<&cell::run>(7);
      *to = co_await sums;
      co_return 0;
    }
  };
  const auto result = [](const job_shape& s) {
    std::uint64_t found = 0;
    const auto start = [&found](ix::runtime& rt, std::vector<std::string> words) {
      return outcome::main(rt, std::move(words), &found);
    };
    EXPECT_EQ(run_job_with(s, start), 0) << to_text(s);
    return found;
  };
  const std::uint64_t by_threads = result({.pes = 64});
  EXPECT_NE(by_threads, 0u);
  for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7}) {
    EXPECT_EQ(result({.pes = 64, .seed = seed, .one_thread = true}), by_threads) << "seed " << seed;
#if IMBREX_HAVE_TOML
    EXPECT_EQ(result({.pes = 4, .ranks = 16, .seed = seed, .in_virtual_time = true}), by_threads) << "seed " << seed;
#endif
  }
}

TEST(stepped, runs_are_the_same_each_time_and_differ_by_seed) {
  const history first = run({.pes = 64, .seed = 5, .one_thread = true});
  const history again = run({.pes = 64, .seed = 5, .one_thread = true});
  const history other = run({.pes = 64, .seed = 6, .one_thread = true});
  EXPECT_EQ(first.order.size(), 1400u);
  EXPECT_EQ(first.order, again.order);
  EXPECT_NE(first.order, other.order);
  EXPECT_EQ(first.result, again.result);
  EXPECT_EQ(first.result, other.result);
}

TEST(stepped, nothing_runs_on_another_thread) {
  const history all = run({.pes = 5, .one_thread = true});
  for (const std::thread::id t : all.threads) ASSERT_EQ(t, std::this_thread::get_id());
}

TEST(stepped, deadlocks_are_told) {
  struct never : ix::chare<never> {
    ix::task<> wait() {
      auto waits = comes();
      co_await waits;
    }
    ix::slot<int> comes;
  };
  const auto outcome = imbrex_test::run_and_listen({.pes = 40, .one_thread = true},
                                                   [](ix::runtime& rt, std::vector<std::string>) -> ix::task<int> {
                                                     auto one = rt.create<never>();
                                                     co_await one.call<&never::wait>();
                                                     co_return 0;
                                                   });
  EXPECT_EQ(outcome.code, 70);
  EXPECT_NE(outcome.errors.find("deadlock"), std::string::npos) << outcome.errors;
}

TEST(stepped, a_failure_ends_all) {
  struct thrower : ix::chare<thrower, ix::index1d> {
    void go() {
      if (index() == 17) throw std::runtime_error("seventeen");
    }
  };
  const auto outcome = imbrex_test::run_and_listen({.pes = 20, .ranks = 2, .one_thread = true},
                                                   [](ix::runtime& rt, std::vector<std::string>) -> ix::task<int> {
                                                     auto all = rt.create_array<thrower>(ix::index1d(40));
                                                     all.broadcast<&thrower::go>();
                                                     co_await rt.quiescence();
                                                     co_return 0;
                                                   });
  EXPECT_EQ(outcome.code, 70);
  EXPECT_NE(outcome.errors.find("seventeen"), std::string::npos) << outcome.errors;
}

}  // namespace

}  // namespace stepped_test
