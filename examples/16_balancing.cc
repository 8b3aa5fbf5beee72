// Balancing: a storm wanders over a row of cities. Where it is, there is ten times as much to compute.
//
//   build/default/bin/16_balancing --imbrex-pes 2                              without balancing
//   build/default/bin/16_balancing --imbrex-pes 2 --imbrex-balance=greedy      cities move to where there is time for
//   them build/default/bin/16_balancing --imbrex-pes 2 --imbrex-balance=greedy --imbrex-trace t.json   a timeline
//
// The program says where it may be a good moment to look (`ix::balance`); what is measured, planned and moved is the
// runtime's. A city that waits for a message moves with its waiting coroutine: it needs no code for that.
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace ix = imbrex;

class city : public ix::chare<city, ix::index1d> {
 public:
  ix::when<int, double> weather;  // by day: what comes from the left

  ix::task<> live(int days) {
    const int n = extent();
    for (int day = 0; day < days; ++day) {
      array()[(index() + 1) % n].send<&city::weather>(day, wind_);
      const auto [wind] = co_await weather(day);  // another city computes meanwhile
      const int storm = day * n / days;           // where it is today
      const bool is_hit = std::abs(storm - index()) <= 2;
      compute(wind, is_hit ? 100'000 : 10'000);
      if (day % 10 == 9) co_await ix::balance(*this);
    }
    contribute(wind_, ix::sum);
  }

 private:
  void compute(double wind, int work) {
    double x = 0.5 + 0.5 * wind;
    for (int i = 0; i < work; ++i) x = 3.7 * x * (1 - x);
    wind_ = x;
  }

  double wind_ = 0.1;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int days = arguments.empty() ? 200 : std::stoi(arguments[0]);
  const auto cities = rt.create_array<city>(ix::index1d(16 * rt.num_pes()));
  const auto began = std::chrono::steady_clock::now();
  cities.broadcast<&city::live>(days);
  co_await cities.reduction<double>();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const ix::balance_summary balanced = rt.balancing();
  fmt::print("{} days\n", days);
  fmt::print(
      stderr, "{:.2f} s; looked at {} times, {} moves, efficiency {:.2f} when it was looked at first, {:.2f} last\n",
      took.count(), balanced.num_rounds, balanced.num_moves, balanced.first_efficiency, balanced.last_efficiency);
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, start); }
