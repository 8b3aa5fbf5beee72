#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <memory>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace hand_over_test {

/// Chares that move inside a process while they wait: nothing is serialised, and what they wait for follows.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

/// One process; several PEs, more than cores, random schedules, one thread.
const std::vector<job_shape>& shapes_of_one_process() {
  static const std::vector<job_shape> shapes{
      {1, 1}, {2, 1}, {4, 1}, {3, 1, 5}, {6, 1, 8}, {3, 1, 0, 0, true}, {9, 1, 11, 0, true}};
  return shapes;
}

template <class Start, class... Extra>
void run_in_one_process(Start start, Extra... extra) {
  for (const job_shape& s : shapes_of_one_process()) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, start, extra...), 0);
  }
}

/// Has nothing that could be serialised.
struct settler : ix::chare<settler, ix::index1d> {
  settler() : own_(std::make_unique<int>(index().x)) {}

  void go(int to) { migrate_to(to); }
  int where() { return pe(); }
  ix::task<std::vector<int>> read(int count) {
    std::vector<int> seen{pe()};
    int* const before = own_.get();
    const int on_stack_of_coroutine = 41;
    for (int k = 0; k < count; ++k) {
      auto [text] = co_await letters(k);
      EXPECT_EQ(text, std::to_string(k));
      seen.push_back(pe());
    }
    EXPECT_EQ(own_.get(), before);
    EXPECT_EQ(*own_, index().x);
    EXPECT_EQ(on_stack_of_coroutine, 41);
    co_return seen;
  }

  /// Asks a neighbour that answers only once it has been told to.
  ix::task<int> ask(ix::array_proxy<settler> others, int whom) {
    const int answer = co_await others[whom].call<&settler::answer>();
    co_return 100 * answer + pe();
  }
  ix::task<int> answer() {
    auto [n] = co_await answers(0);
    co_return n;
  }
  ix::task<> meet(int rounds, std::uint64_t seed) {
    ix::random_sequence random(seed + static_cast<std::uint64_t>(index().x));
    int errors = 0;
    for (int k = 0; k < rounds; ++k) {
      if (random.below(3) != 0) migrate_to(static_cast<int>(random.below(static_cast<std::uint64_t>(num_pes()))));
      const int sum = co_await allreduce(k + index().x, ix::sum);
      errors += sum != extent().x * k + extent().x * (extent().x - 1) / 2;
      if (k % 3 == 0) {
        co_await barrier();
      } else {
        co_await allreduce(1, ix::sum);
      }
    }
    contribute(errors, ix::sum);
  }

  ix::when<int, std::string> letters;
  ix::when<int, int> answers;

 private:
  std::unique_ptr<int> own_;
};

ix::task<int> while_it_waits_for_messages(ix::runtime& rt) {
  constexpr int count = 12;
  auto a = rt.create_array<settler>(ix::index1d(3));
  for (int i = 0; i < 3; ++i) {
    auto reading = a[i].call<&settler::read>(count);
    auto busy = [](ix::array_proxy<settler> all, ix::runtime& on, int who) -> ix::task<> {
      for (int k = 0; k < count; ++k) {
        co_await all[who].call<&settler::go>((k + who) % on.num_pes());
        co_await on.quiescence();
        const int where = co_await all[who].call<&settler::where>();
        EXPECT_EQ(where, (k + who) % on.num_pes());
        all[who].send<&settler::letters>(k, std::to_string(k));
        co_await on.quiescence();
      }
    };
    auto both = ix::when_all(std::move(reading), busy(a, rt, i));
    const auto [seen, nothing] = co_await std::move(both);
    static_cast<void>(nothing);
    EXPECT_EQ(seen.size(), count + 1u);
    for (int k = 0; k < count; ++k) EXPECT_EQ(seen[static_cast<std::size_t>(k) + 1], (k + i) % rt.num_pes());
  }
  co_return 0;
}

TEST(hand_over, takes_along_a_chare_that_waits_for_messages) { run_in_one_process(while_it_waits_for_messages); }

ix::task<int> while_it_waits_for_an_answer(ix::runtime& rt, int moves) {
  auto a = rt.create_array<settler>(ix::index1d(4));
  for (int round = 0; round < 4; ++round) {
    auto asked = a[0].call<&settler::ask>(a, 1);
    auto meanwhile = [](ix::array_proxy<settler> all, ix::runtime& on, int n, int r) -> ix::task<int> {
      int last = co_await all[0].call<&settler::where>();
      for (int k = 0; k < n; ++k) {
        last = (3 * k + r) % on.num_pes();
        all[0].send<&settler::go>(last);
        all[1].send<&settler::go>((k + 1) % on.num_pes());
        if (r % 2 == 0 || k % 2 == 0) co_await on.quiescence();
      }
      all[1].send<&settler::answers>(0, 7);
      co_return last;
    };
    auto both = ix::when_all(std::move(asked), meanwhile(a, rt, moves, round));
    const auto [answer, last] = co_await std::move(both);
    EXPECT_EQ(answer / 100, 7);
    if (round % 2 == 0) {
      EXPECT_EQ(answer % 100, last);
    }
  }
  co_return 0;
}

TEST(hand_over, takes_along_a_chare_that_waits_for_an_answer) {
  for (const int moves : {1, 2, 5}) run_in_one_process(while_it_waits_for_an_answer, moves);
}

ix::task<int> while_it_waits_for_all(ix::runtime& rt, std::uint64_t seed) {
  auto a = rt.create_array<settler>(ix::index1d(11));
  a.broadcast<&settler::meet>(20, seed);
  const int errors = co_await a.reduction<int>();
  EXPECT_EQ(errors, 0);
  co_return 0;
}

TEST(hand_over, takes_along_chares_that_wait_for_an_allreduce) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) run_in_one_process(while_it_waits_for_all, seed);
}

/// Passes numbers round a ring of channels, and moves all the time.
struct ring : ix::chare<ring, ix::index1d> {
  ring() : out_(on_host(), 500), in_(on_host(), 500) {
    const int n = extent().x;
    to_ = ix::channel<int>(*this, array()[(index().x + 1) % n], 0, 1);
    from_ = ix::channel<int>(*this, array()[(index().x + n - 1) % n], 1, 0);
  }
  ix::task<> run(int count, std::uint64_t seed) {
    ix::random_sequence random(seed + static_cast<std::uint64_t>(index().x));
    const int n = extent().x;
    ix::stream_set& s = streams();
    int errors = 0;
    for (int k = 0; k < count; ++k) {
      if (random.below(2) == 0) migrate_to(static_cast<int>(random.below(static_cast<std::uint64_t>(num_pes()))));
      s.pack.call("fill", [out = out_.data(), value = 100 * k + index().x] { std::fill_n(out, 500, value); });
      const auto sent = to_.send(out_, s.pack);
      if (random.below(3) == 0) {
        auto received = co_await from_.borrow();
        errors += received.data()[499] != 100 * k + (index().x + n - 1) % n;
      } else {
        co_await from_.recv(in_, s.unpack);
        s.compute.after(s.unpack);
        s.compute.call("check", [in = in_.data(), value = 100 * k + (index().x + n - 1) % n, &errors] {
          errors += in[499] != value;
        });
        if (random.below(2) == 0) co_await s.compute.done();
      }
      if (&streams() != &s) ++errors;
      if (s.compute.on().number() != on_device().number()) ++errors;
      co_await sent;
      s.unpack.after(s.compute);
      s.pack.after(s.compute);
    }
    co_await s.compute.done();
    contribute(errors, ix::sum);
    contribute(moves_, ix::sum);
  }
  template <class Archive>
  void serialize(Archive& ar) {  // once its coroutine has ended
    ar & left_ & moves_;
  }
  void about_to_move(int to) {
    EXPECT_NE(to, pe());
    left_ = pe();
  }
  void has_moved(int from) {
    EXPECT_EQ(from, left_);
    EXPECT_NE(from, pe());
    ++moves_;
  }

 private:
  ix::buffer<int> out_, in_;
  ix::channel<int> to_, from_;
  int left_ = -1;
  int moves_ = 0;
};

ix::task<int> with_open_channels(ix::runtime& rt, std::uint64_t seed, int fewest_moves) {
  auto a = rt.create_array<ring>(ix::index1d(7));
  a.broadcast<&ring::run>(30, seed);
  const int errors = co_await a.reduction<int>();
  EXPECT_EQ(errors, 0);
  const int moves = co_await a.reduction<int>();
  if (rt.num_pes() > 1) {
    EXPECT_GE(moves, fewest_moves);
  }
  co_return 0;
}

TEST(hand_over, takes_along_channels_and_streams) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) run_in_one_process(with_open_channels, seed, 20);
}

// They move inside their processes, for nothing could be serialised of them; the other end may be elsewhere.
TEST(hand_over, takes_along_channels_between_processes) {
  for (const job_shape& s : {job_shape{2, 2}, {3, 2, 7}, {2, 3, 0, 20}, {4, 2, 9, 40, true}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, with_open_channels, 5u, 5), 0);
  }
}

struct late : ix::chare<late, ix::index1d> {
  ix::task<int> wait_for_either(int to) {
    migrate_to(to);
    auto any = ix::when_any(first(1), second());
    const auto which = co_await std::move(any);
    auto all = ix::when_all(first(2), second(), array()[1 - index().x].call<&late::where>());
    co_await std::move(all);
    co_return which.index() == 1 ? pe() : -1;
  }
  int where() { return pe(); }
  ix::task<int> with_a_future(int to) {
    ix::future<int> answer;
    array()[1 - index().x].send<&late::tell>(answer.get_callback());
    migrate_to(to);
    const auto [n] = co_await answer;
    EXPECT_EQ(n, 5);
    co_return pe();
  }
  void tell(ix::callback<int> who) { who.send(5); }
  void stay(int to) {
    pin();
    EXPECT_TRUE(is_pinned());
    EXPECT_THROW(migrate_to(to), ix::usage_error);
    unpin();
    migrate_to(to);
    pin();  // before the move is carried out
  }
  void unpin_now() { unpin(); }
  void go(int to) { migrate_to(to); }
  ix::task<> wait_for_ever() { co_await second(); }

  ix::when<int> first;
  ix::slot<> second;
};

ix::task<int> with_several_waits(ix::runtime& rt) {
  auto a = rt.create_array<late>(ix::index1d(2));
  const int to = rt.num_pes() - 1;
  auto waiting = a[0].call<&late::wait_for_either>(to);
  auto telling = [](ix::array_proxy<late> all, ix::runtime& on) -> ix::task<> {
    co_await on.quiescence();
    all[0].send<&late::second>();
    co_await on.quiescence();
    all[0].send<&late::first>(2);
    all[0].send<&late::second>();
  };
  auto both = ix::when_all(std::move(waiting), telling(a, rt));
  const auto [where, nothing] = co_await std::move(both);
  static_cast<void>(nothing);
  EXPECT_EQ(where, to);
  co_await a[0].call<&late::with_a_future>((to + 1) % rt.num_pes());
  co_await rt.quiescence();
  const int after = co_await a[0].call<&late::where>();
  EXPECT_EQ(after, (to + 1) % rt.num_pes());
  co_await a[1].call<&late::stay>((to + 1) % rt.num_pes());
  co_await rt.quiescence();
  co_await a[1].call<&late::unpin_now>();
  co_return 0;
}

TEST(hand_over, takes_along_several_waits_and_waits_for_futures) { run_in_one_process(with_several_waits); }

ix::task<int> in_flight_at_the_end(ix::runtime& rt) {
  auto a = rt.create_array<late>(ix::index1d(6));
  auto r = rt.create_array<ring>(ix::index1d(5));
  r.broadcast<&ring::run>(1000, 3u);
  for (int i = 0; i < 6; ++i) a[i].send<&late::wait_for_ever>();
  co_await a[0].call<&late::where>();
  for (int k = 0; k < 50; ++k) {
    for (int i = 0; i < 6; ++i) a[i].send<&late::go>((i + k) % rt.num_pes());
  }
  rt.exit(0);
  co_return 0;
}

TEST(hand_over, may_be_under_way_when_the_job_ends) { run_in_one_process(in_flight_at_the_end); }

struct single : ix::chare<single> {
  ix::task<int> hop(ix::array_proxy<settler> others, int hops) {
    int errors = 0;
    for (int k = 0; k < hops; ++k) {
      migrate_to((pe() + 1) % num_pes());
      const int answer = co_await others[0].call<&settler::answer>();
      errors += answer < 0 || answer >= hops;
    }
    co_return errors;
  }
};

ix::task<int> singletons(ix::runtime& rt) {
  auto a = rt.create_array<settler>(ix::index1d(1));
  auto s = rt.create<single>();
  constexpr int hops = 9;
  auto hopping = s.call<&single::hop>(a, hops);
  auto telling = [](ix::array_proxy<settler> all, ix::runtime& on) -> ix::task<> {
    for (int k = 0; k < hops; ++k) {
      if (k % 2 == 0) co_await on.quiescence();
      all[0].send<&settler::answers>(0, k);
    }
  };
  auto both = ix::when_all(std::move(hopping), telling(a, rt));
  const auto [errors, nothing] = co_await std::move(both);
  static_cast<void>(nothing);
  co_return errors;
}

TEST(hand_over, takes_along_singletons) { run_in_one_process(singletons); }

}  // namespace

}  // namespace hand_over_test
