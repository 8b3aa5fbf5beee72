// A ring of chares: each sends its number to its neighbour, and all add up what came.
#include <imbrex/imbrex.h>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace ix = imbrex;

struct worker : ix::chare<worker, ix::index1d> {
  ix::when<int, double> arrived;  // messages with a number

  ix::task<> run(int steps) {
    double value = index().x;
    for (int step = 0; step < steps; ++step) {
      array()[(index().x + 1) % extent().x].send<&worker::arrived>(step, value);
      const auto [came] = co_await arrived(step);  // another chare computes meanwhile
      value = came;
    }
    contribute(value, ix::sum);
  }

  template <class Archive>
  void serialize(Archive&) {}  // what moves with it, and what a checkpoint keeps
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> words) {
  const int num_workers = words.empty() ? 4 * rt.num_pes() : std::stoi(words[0]);
  auto workers = rt.create_array<worker>(num_workers);
  workers.broadcast<&worker::run>(10);
  const double sum = co_await workers.reduction<double>();
  fmt::print("{} workers on {} PEs of {} ranks: sum {}\n", num_workers, rt.num_pes(), rt.num_ranks(), sum);
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
