// Messages of all PEs at once, and a broadcast with a reduction, as PEs become many; a line of JSON:
//   for n in 8 16 32 48 64; do bench_many_pes --imbrex-pes=$n; done
//   bench_many_pes 64 20000 --imbrex-pes=64     # 64 messages of each PE are under way, each goes 20000 ways
//
// Each message goes to a PE that chance picks, which sends it on. The PEs contribute to the reduction when they have
// computed for 0, 10 or 100 microseconds, which are subtracted: median, and what nine of ten do not exceed.
#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace ix = imbrex;

class stopwatch {
 public:
  double us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

struct member : ix::chare<member, ix::index1d> {
  void begin(int messages, int ways) {
    state_ = static_cast<std::uint64_t>(index() + 1) * 0x9E3779B97F4A7C15 + 1;
    for (int i = 0; i < messages; ++i) hop(ways);
  }
  void hop(int ways) {
    if (ways > 0) array()[any()].send<&member::hop>(ways - 1);
  }
  void answer(int us) {
    const stopwatch w;
    while (w.us() < us) {
    }
    contribute(1, ix::sum);
  }

 private:
  int any() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(ix::scheduler::current().num_pes()));
  }

  std::uint64_t state_ = 1;
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}
double nine_of_ten(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() * 9 / 10];
}

ix::task<int> start(ix::runtime& rt, std::vector<std::string> words) {
  const int messages = !words.empty() ? std::stoi(words[0]) : 16;
  const int ways = words.size() > 1 ? std::stoi(words[1]) : 20'000;
  auto all = rt.create_group<member>();
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) {
    const stopwatch w;
    all.broadcast<&member::begin>(messages, ways);
    co_await rt.quiescence();
    rates.push_back(double(messages) * ways * rt.num_pes() / w.us());
  }
  fmt::print("{{\"pes\": {}, \"messages_m_s\": {:.1f}", rt.num_pes(), median(rates));
  for (const int busy : {0, 10, 100}) {
    std::vector<double> both;
    for (int i = 0; i < 300; ++i) {
      const stopwatch w;
      all.broadcast<&member::answer>(busy);
      co_await all.reduction<int>();
      both.push_back(w.us() - busy);
    }
    fmt::print(", \"broadcast_reduction_{}_us\": [{:.1f}, {:.1f}]", busy, median(both), nine_of_ten(both));
  }
  fmt::print("}}\n");
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
