// What it costs a chare that waits to go to another process: it is ended at a move point, serialised, sent, made, read
// and called again. Medians of rounds of hops to and fro between the first PEs of the first and the last rank.
//
//   mpirun -n 2 build/default/bin/bench_process_moves --imbrex-transport=ucx [rounds]
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ix = imbrex;

constexpr int hops_each_round = 200;

class traveller : public ix::chare<traveller, ix::index1d> {
 public:
  ix::task<> run() {
    while (hops_left_ > 0) {
      --hops_left_;
      migrate_to(pe() == 0 ? num_pes() - 1 : 0);
      co_await ix::move_point(*this);
    }
  }
  using restartable = ix::entry_list<&traveller::run>;

  void carry(std::size_t bytes) {
    load_.resize(bytes);
    hops_left_ = hops_each_round;
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & load_ & hops_left_;
  }

 private:
  std::vector<char> load_;
  int hops_left_ = 0;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int rounds = arguments.empty() ? 21 : std::stoi(arguments[0]);
  const auto one = rt.create_array<traveller>(ix::index1d(1))[0];
  fmt::print("{} ranks, {} PEs each, by {}\n", rt.num_ranks(), rt.pes_per_rank(), rt.transport_name());
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 16, std::size_t{1} << 20}) {
    std::vector<double> us;
    for (int r = 0; r < rounds; ++r) {
      auto loaded = one.call<&traveller::carry>(bytes);
      co_await std::move(loaded);
      const auto began = std::chrono::steady_clock::now();
      auto arrived = one.call<&traveller::run>();
      co_await std::move(arrived);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
      us.push_back(took.count() / hops_each_round);
    }
    std::ranges::sort(us);
    fmt::print("{:8} bytes: {:8.2f} us a hop (median of {}; {:.2f} to {:.2f})\n", bytes, us[us.size() / 2], rounds,
               us.front(), us.back());
  }
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, start); }
