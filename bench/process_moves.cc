// What it costs a chare that waits to go to another process: it is ended at a move point, serialised, sent, made, read
// and called again. Medians of rounds of hops to and fro between the first PEs of the first and the last rank; without
// channels, and with two that are open, to chares that stay on either side and are told of each hop.
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

class traveller;
/// The other end of a channel.
class resident : public ix::chare<resident> {
 public:
  void open(ix::array_proxy<traveller> to, int port);

 private:
  ix::channel<int> from_;
};

class traveller : public ix::chare<traveller, ix::index1d> {
 public:
  void open(const std::vector<ix::element_proxy<resident>>& others) {
    for (const auto& other : others) channels_.emplace_back(*this, other, static_cast<int>(channels_.size()), 0);
  }
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
    ar & load_ & hops_left_ & channels_;
  }

 private:
  std::vector<ix::channel<int>> channels_;
  std::vector<char> load_;
  int hops_left_ = 0;
};

void resident::open(ix::array_proxy<traveller> to, int port) { from_ = ix::channel<int>(*this, to[0], 0, port); }

ix::task<> measure(ix::element_proxy<traveller> one, int rounds, std::string what) {
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
    fmt::print("{:8} bytes{}: {:8.2f} us a hop (median of {}; {:.2f} to {:.2f})\n", bytes, what, us[us.size() / 2],
               rounds, us.front(), us.back());
  }
}

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int rounds = arguments.empty() ? 21 : std::stoi(arguments[0]);
  const auto all = rt.create_array<traveller>(ix::index1d(1));
  fmt::print("{} ranks, {} PEs each, by {}\n", rt.num_ranks(), rt.pes_per_rank(), rt.transport_name());
  auto without = measure(all[0], rounds, "");
  co_await without;
  const std::vector<ix::element_proxy<resident>> others{rt.create_on<resident>(0),
                                                        rt.create_on<resident>(rt.num_pes() - 1)};
  for (int port = 0; port < 2; ++port) others[static_cast<std::size_t>(port)].send<&resident::open>(all, port);
  all[0].send<&traveller::open>(others);
  co_await rt.quiescence();
  auto with_channels = measure(all[0], rounds, ", two channels");
  co_await with_channels;
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, start); }
