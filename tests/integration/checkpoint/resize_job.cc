// A ring of chares whose job goes on with other numbers of PEs in the same processes, over any transport. Exit code 0:
// it ended with the right bits and with the numbers that were asked for.
#include <imbrex/imbrex.h>

#include <cstdio>
#include <vector>

#include "unit/checkpoint/live/ring_program.h"

namespace {

namespace ix = imbrex;

struct resized : imbrex_test::ring {
  resized() : ring(13, 0, 200) {}
  std::vector<int> next{3, 1, 2};  // PEs of each rank; the first is what comes next

  ix::task<int> start(ix::runtime& rt) {
    rt.resize(next.front());
    auto rest = ring::start(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    if (rt.pes_per_rank() != next.front()) {
      std::fprintf(stderr, "%d PEs where %d were asked for\n", rt.pes_per_rank(), next.front());
      co_return 1;
    }
    next.erase(next.begin());
    if (!next.empty()) rt.resize(next.front());
    auto rest = ring::finish(rt);
    const int code = co_await rest;
    co_return next.empty() ? code : 2;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ring::serialize(ar);
    ar & next;
  }
};

}  // namespace

int main(int argc, char** argv) { return ix::run<resized>(argc, argv); }
