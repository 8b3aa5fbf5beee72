// When: entry methods that wait for messages, in the order that the algorithm wants and not the one they come in.
//
// An entry method that returns `ix::task<>` is a coroutine: it may wait in the middle, and its PE does other things
// meanwhile. It waits for messages in `when` slots: members that others send to, matched by a reference number.
//
// Shown twice: a rod of cells that exchange values with both neighbours in every step (`when_all`), and workers that
// fetch their next piece of work from a foreman until there is none (`when_any`).
//
//   build/default/bin/04_when                           one process, one PE per core
//   build/default/bin/04_when --imbrex-pes 4            four PEs
//   mpirun -n 2 build/default/bin/04_when               two processes
//   build/default/bin/04_when --imbrex-schedule-seed 7  in another order: the same result
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <variant>

namespace ix = imbrex;

// ---------------------------------------------------------------- a rod: each step needs both neighbours' values

class cell : public ix::chare<cell, ix::index1d> {
 public:
  // Slots. The first argument is the reference number, here the step; what follows is the message.
  ix::when<int, long> from_left;
  ix::when<int, long> from_right;

  ix::task<> run(int num_steps) {
    const int n = extent().x;
    const auto left = array()[(index().x + n - 1) % n];
    const auto right = array()[(index().x + 1) % n];
    long value = index().x == 0 ? 1 << 20 : 0;
    for (int step = 0; step < num_steps; ++step) {
      left.send<&cell::from_right>(step, value);  // we are our left neighbour's right one
      right.send<&cell::from_left>(step, value);
      // A neighbour may be a step ahead; its message for the next step stays in the slot until we ask for that number.
      const auto [l, r] = co_await ix::when_all(from_left(step), from_right(step));
      value = (std::get<0>(l) + 2 * value + std::get<0>(r)) / 4;
    }
    contribute(value, ix::max);
  }
};

// ---------------------------------------------------------------- a foreman and workers: one message or another

class worker;

class foreman : public ix::chare<foreman> {  // without an index: a single one
 public:
  ix::when<int, ix::element_proxy<worker>> asks;  // proxies are values: send them along
  ix::task<> hand_out(int num_pieces, int num_workers);
};

class worker : public ix::chare<worker, ix::index1d> {
 public:
  ix::when<int, int> piece;
  ix::when<int> no_more;

  ix::task<> run(ix::element_proxy<foreman> boss) {
    long sum = 0;
    while (true) {
      boss.send<&foreman::asks>(0, proxy());
      // Whichever comes first; the other slot is left as it was.
      auto next = co_await ix::when_any(piece.any(), no_more.any());
      if (next.index() == 1) break;
      const auto [number] = std::get<0>(next);
      sum += static_cast<long>(number) * number;
    }
    contribute(sum, ix::sum);
  }
};

ix::task<> foreman::hand_out(int num_pieces, int num_workers) {
  for (int i = 0; i < num_pieces + num_workers; ++i) {
    const auto [who] = co_await asks.any();
    if (i < num_pieces) {
      who.send<&worker::piece>(0, i);
    } else {
      who.send<&worker::no_more>(0);
    }
  }
}

ix::task<int> start(ix::runtime& rt) {
  const auto rod = rt.create_array<cell>(16);
  rod.broadcast<&cell::run>(100);
  const long highest = co_await rod.reduction<long>();
  fmt::print("the highest of 16 cells after 100 steps: {}\n", highest);

  const auto boss = rt.create<foreman>();
  const auto workers = rt.create_array<worker>(6);
  boss.send<&foreman::hand_out>(1000, 6);
  workers.broadcast<&worker::run>(boss);
  const long squares = co_await workers.reduction<long>();
  fmt::print("six workers summed the squares below 1000: {}\n", squares);
  co_return squares == 332833500 ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
