// What it costs a chare with a buffer in a GPU's memory to go to a PE that drives another GPU, of this process or of
// another one, beside a bare copy of as many bytes from one GPU's memory to the other's (one process with two GPUs
// only: what no move can beat). Medians of rounds of hops to and fro between the first PE and the last.
//
//   build/default/bin/bench_moves_between_gpus --imbrex-device=cuda --imbrex-pes=2 [rounds]
//   mpirun -n 2 build/default/bin/bench_moves_between_gpus --imbrex-device=cuda --imbrex-transport=ucx [rounds]
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ix = imbrex;

constexpr int hops_each_round = 20;

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

  ix::task<> carry(std::size_t bytes, int hops) {
    if (load_.size() != bytes) {
      load_ = ix::buffer<std::byte>(on_device(), bytes);
      streams().compute.fill(load_.data(), 1, bytes);
      co_await streams().compute.done();
    }
    hops_left_ = hops;
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & load_ & hops_left_;
  }

 private:
  ix::buffer<std::byte> load_;
  int hops_left_ = 0;
};

struct times {
  std::vector<double> us;
  void print(const char* what, std::size_t bytes) {
    std::ranges::sort(us);
    fmt::print("{:>8} KiB {:10}: {:9.1f} us (median of {}; {:.1f} to {:.1f})\n", bytes >> 10, what, us[us.size() / 2],
               us.size(), us.front(), us.back());
  }
};

class stopwatch {
 public:
  double us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// There and back, since the traveller's two ways need not take the same time.
ix::task<> copy_between_gpus(ix::runtime& rt, std::size_t bytes, int rounds) {
  ix::buffer<std::byte> one(rt.gpu(0), bytes), other(rt.gpu(1), bytes);
  const auto there = rt.gpu(1).make_stream(ix::stream_priority::high, "there");
  const auto back = rt.gpu(0).make_stream(ix::stream_priority::high, "back");
  times copies;
  for (int r = -1; r < rounds; ++r) {
    const stopwatch clock;
    for (int k = 0; k < hops_each_round / 2; ++k) {
      there->copy(other.data(), one.data(), bytes);
      co_await there->done();
      back->copy(one.data(), other.data(), bytes);
      co_await back->done();
    }
    if (r >= 0) copies.us.push_back(clock.us() / hops_each_round);
  }
  copies.print("bare copy", bytes);
}

ix::task<> move_about(ix::element_proxy<traveller> one, std::size_t bytes, int rounds) {
  times hops;
  for (int r = -1; r < rounds; ++r) {  // the first allocates on either GPU
    auto loaded = one.call<&traveller::carry>(bytes, hops_each_round);
    co_await std::move(loaded);
    const stopwatch clock;
    auto arrived = one.call<&traveller::run>();
    co_await std::move(arrived);
    if (r >= 0) hops.us.push_back(clock.us() / hops_each_round);
  }
  hops.print("hop", bytes);
}

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int rounds = arguments.empty() ? 11 : std::stoi(arguments[0]);
  const auto all = rt.create_array<traveller>(ix::index1d(1));
  fmt::print("{} ranks, {} PEs and {} GPUs each, by {}\n", rt.num_ranks(), rt.pes_per_rank(), rt.num_gpus(),
             rt.transport_name());
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
    if (rt.num_gpus() > 1) {
      auto copies = copy_between_gpus(rt, bytes, rounds);
      co_await copies;
    }
    auto hops = move_about(all[0], bytes, rounds);
    co_await hops;
  }
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, start); }
