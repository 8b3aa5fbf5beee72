// METG of chares that send each other messages, one chare a point:
//   build/default/bin/bench_metg_chares [points a PE, 4] --imbrex-pes=2
#include <imbrex/imbrex.h>

#include <chrono>
#include <string>
#include <vector>

#include "metg/metg.h"

namespace ix = imbrex;

namespace {

/// A point: its tasks run as soon as what they need has come. Some points are many steps ahead of others.
class point : public ix::chare<point, ix::index1d> {
 public:
  void begin(metg::graph g, std::int64_t rounds) {
    graph_ = g;
    rounds_ = rounds;
    step_ = 0;
    have_.resize(static_cast<std::size_t>(g.steps) + 1);  // what came before stays
    run_ready();
  }
  void input(int step, double value) {
    count(step);
    sum_ += value;
    if (step == step_) run_ready();
  }

 private:
  int& of(int step) { return have_[static_cast<std::size_t>(step)]; }
  void count(int step) {
    if (have_.size() <= static_cast<std::size_t>(step)) have_.resize(static_cast<std::size_t>(step) + 1);
    ++of(step);
  }
  void run_ready() {
    while (step_ < graph_.steps && of(step_) == graph_.num_inputs(step_, index().x)) {
      const double value = metg::work(rounds_, 1.0);
      const int now = step_++;
      graph_.each_output(now, index().x, [&](int p) {
        if (p == index().x) {
          count(now + 1);
        } else {
          array()[ix::index1d{p}].send<&point::input>(now + 1, value);
        }
      });
    }
    if (step_ < graph_.steps) return;
    step_ = -1;
    have_.clear();
    contribute(sum_, ix::sum);
  }

  metg::graph graph_;
  std::int64_t rounds_ = 0;
  int step_ = -1;
  std::vector<int> have_;  ///< by step
  double sum_ = 0;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> a) {
  const int cores = rt.num_pes(), width = metg::width_of(a.empty() ? 4 : std::stoi(a[0]), cores);
  const double round = metg::seconds_of_round();
  const auto points = rt.create_array<point>(ix::index1d{width});
  for (const metg::pattern kind : metg::all_patterns) {
    for (metg::search s("chares", kind, width, cores, round); s.wants();) {
      const auto began = std::chrono::steady_clock::now();
      points.broadcast<&point::begin>(s.what(), s.rounds());
      co_await points.reduction<double>();
      s.tell(metg::seconds_since(began));
    }
  }
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
