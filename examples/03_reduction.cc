// Reductions: combine a value of every chare, while all go on with their work.
//
// Each element contributes and returns at once. The result goes to the main chare (`co_await array.reduction<T>()`), to
// an entry method (`deliver`), or to all contributors that wait for it (`allreduce`).
//
//   build/default/bin/03_reduction                      one process, one PE per core
//   build/default/bin/03_reduction --imbrex-pes 4       four PEs
//   mpirun -n 2 build/default/bin/03_reduction          two processes
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <string>
#include <vector>

namespace ix = imbrex;

// A value of our own, and how two of them combine: in any order, so it must not matter which comes first.
struct peak {
  long height = 0;
  int where = 0;
};

struct highest {
  void operator()(peak& into, peak&& other) const {
    const bool wins = other.height != into.height ? other.height > into.height : other.where < into.where;
    if (wins) into = other;
  }
};

class sampler : public ix::chare<sampler, ix::index1d> {
 public:
  // Three reductions in a row; nothing here waits. All elements contribute in the same order.
  void sample() {
    contribute(height(), ix::sum);  // numbers: sum, product, min, max, ...
    std::vector<int> histogram(4);  // and vectors of them, element by element
    histogram[static_cast<std::size_t>(height() / 25)] = 1;
    contribute(histogram, ix::sum);
    contribute(peak{height(), index().x}, highest{});  // or with an operation of one's own
  }

  // Every element learns the result and goes on with it.
  ix::task<> compare() {
    const long top = co_await allreduce(height(), ix::max);
    contribute(height() * 2 > top ? 1 : 0, ix::sum, ix::deliver<&sampler::above_half>(array()[0]));
  }
  void above_half(int count) { above_half_ = count; }  // the result of a reduction, as a message to element 0
  int num_above_half() const { return above_half_; }

  // The members of a section (a subset) have reductions of their own.
  void sample_in(ix::section_proxy<sampler> part) { contribute(part, height(), ix::sum); }

 private:
  long height() const { return static_cast<long>(index().x) * 37 % 100; }
  int above_half_ = -1;
};

ix::task<int> start(ix::runtime& rt) {
  const auto samplers = rt.create_array<sampler>(50);

  samplers.broadcast<&sampler::sample>();
  const long sum = co_await samplers.reduction<long>();  // results come in the order of the contributions
  const auto histogram = co_await samplers.reduction<std::vector<int>>();
  const peak top = co_await samplers.reduction<peak>();
  fmt::print("sum of 50 heights: {}\n", sum);
  fmt::print("histogram: {} {} {} {}\n", histogram[0], histogram[1], histogram[2], histogram[3]);
  fmt::print("the highest, {}, is number {}\n", top.height, top.where);

  samplers.broadcast<&sampler::compare>();
  co_await rt.quiescence();
  const int above = co_await samplers[0].call<&sampler::num_above_half>();
  fmt::print("{} are higher than half of that\n", above);

  std::vector<ix::index1d> every_fifth;
  for (int i = 0; i < 50; i += 5) every_fifth.emplace_back(i);
  const auto part = samplers.section(every_fifth);
  part.broadcast<&sampler::sample_in>(part);
  const long sum_of_part = co_await part.reduction<long>();
  fmt::print("sum of every fifth height: {}\n", sum_of_part);
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
