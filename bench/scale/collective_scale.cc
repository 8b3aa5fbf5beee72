// What collectives take as PEs become many, by ix::clock: in real time on this machine, or in virtual time on one that
// is simulated:
//   bench_collective_scale --imbrex-machine=summit --imbrex-device=host --imbrex-nodes=512 --imbrex-ranks-per-node=6
//     --imbrex-pes=1 --imbrex-machine-cpu=declared
#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace {

namespace ix = imbrex;

struct member : ix::chare<member, ix::index1d> {
  void answer(int round) { contribute(round, ix::max); }
  ix::task<> reduce_all(int rounds) {
    for (int i = 0; i < rounds; ++i) co_await allreduce(1, ix::sum);
    contribute(0, ix::max);
  }
};

class stopwatch {
 public:
  double us() const { return std::chrono::duration<double, std::micro>(ix::clock::now() - began_).count(); }

 private:
  ix::clock::time_point began_ = ix::clock::now();
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

ix::task<int> start(ix::runtime& rt) {
  constexpr int repeats = 9, rounds = 10;
  const stopwatch creation;
  auto all = rt.create_group<member>();
  all.broadcast<&member::answer>(0);
  co_await all.reduction<int>();
  const double created = creation.us();
  std::vector<double> both, quiet, each;
  for (int i = 0; i < repeats; ++i) {
    const stopwatch w;
    all.broadcast<&member::answer>(i);
    co_await all.reduction<int>();
    both.push_back(w.us());
    const stopwatch q;
    co_await rt.quiescence();
    quiet.push_back(q.us());
  }
  for (int i = 0; i < 3; ++i) {
    const stopwatch w;
    all.broadcast<&member::reduce_all>(rounds);
    co_await all.reduction<int>();
    each.push_back((w.us() - median(both)) / rounds);
  }
  fmt::print(
      "{{\"ranks\": {}, \"pes\": {}, \"create_us\": {:.1f}, \"broadcast_and_reduction_us\": {:.2f}, \"allreduce_us\": "
      "{:.2f}, "
      "\"quiescence_us\": {:.2f}}}\n",
      rt.num_ranks(), rt.num_pes(), created, median(both), median(each), median(quiet));
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
