#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "options.h"

namespace jacobi {
namespace {

std::string digest_of_initial(const initial_condition& i) {
  static constexpr const char* kinds[] = {"hot-face", "random", "sine", "file"};
  return fmt::format("{} {} {}", kinds[static_cast<int>(i.kind)], i.seed, i.input);
}

}  // namespace

std::string steps_text(const options& o) {
  return o.tuned.steps ? "auto" : o.steps == resident_steps ? "resident" : fmt::format("{}", o.steps);
}

std::string digest(const options& o) {
  std::string text;
  auto line = [&text](const char* option, const std::string& value) { text += fmt::format("{}={}\n", option, value); };
  line("-x -y -z", fmt::format("{} {} {}", o.grid.nx, o.grid.ny, o.grid.nz));
  line("-c", o.num_chares ? fmt::format("{}", *o.num_chares) : "not given");
  line("--odf", o.tuned.odf ? "auto" : o.odf ? fmt::format("{}", *o.odf) : "not given");
  line("--pes", o.pes != 0 ? fmt::format("{}", o.pes) : "not given");
  line("-w", fmt::format("{}", o.warm_up));
  line("-i", fmt::format("{}", o.iterations));
  line("--repeats", fmt::format("{}", o.repeats));
  line("--init or --input", digest_of_initial(o.initial));
  line("--boundary", o.boundary.periodic ? "periodic" : fmt::format("{}", o.boundary.value));
  line("--alpha --beta", o.formula.weighted ? fmt::format("{} {}", o.formula.alpha, o.formula.beta) : "not given");
  line("--tolerance", o.tolerance ? fmt::format("{}", *o.tolerance) : "not given");
  line("--check-every", fmt::format("{}", o.check_every));
  line("--point-every", fmt::format("{}", o.point_every));
  line("--impl", name(o.impl));
  line("--map", name(o.map));
  line("--steps", steps_text(o));
  line("--imbalance", fmt::format("{}", o.imbalance));
  line("--wander", fmt::format("{}", o.wander));
  line("--balance", o.balance);
  line("--balance-every", fmt::format("{}", o.balance_every));
  line("--overlap", o.overlap ? "given" : "not given");
  line("--verify", o.verify ? "given" : "not given");
  line("--quiet", o.quiet ? "given" : "not given");
  line("--output", fmt::format("{}", fmt::join(o.outputs, ",")));
  line("--report", o.report);
  line("--trace", o.trace);
  line("--device", o.device);
  line("--gpus", fmt::format("{}", o.gpu.gpus));
  line("--streams", o.gpu.streams ? name(*o.gpu.streams) : "not given");
  line("--comm", o.gpu.halos ? name(*o.gpu.halos) : "not given");
  line("--fusion", o.tuned.fusion ? "auto" : o.gpu.fusion ? name(*o.gpu.fusion) : "not given");
  line("--graph", !o.gpu.graph ? "not given" : *o.gpu.graph ? "given" : "--no-graph");
  line("--completion", o.gpu.completion);
  return text;
}

std::string describe_difference(const std::string& mine, int my_rank, const std::string& other, int other_rank) {
  std::size_t a = 0, b = 0;
  while (a < mine.size() && b < other.size()) {
    const std::size_t a_end = mine.find('\n', a), b_end = other.find('\n', b);
    const std::string_view my_line = std::string_view(mine).substr(a, a_end - a);
    const std::string_view other_line = std::string_view(other).substr(b, b_end - b);
    if (my_line != other_line) {
      const std::size_t value = my_line.find('=') + 1;
      return fmt::format(
          "the ranks disagree about {}: '{}' on rank {}, '{}' on rank {}: give every rank the same options",
          my_line.substr(0, value - 1), my_line.substr(value), my_rank,
          other_line.substr(std::min(value, other_line.size())), other_rank);
    }
    a = a_end + 1;
    b = b_end + 1;
  }
  return fmt::format("rank {} and rank {} run different versions of jacobi3d: start the same program on every rank",
                     my_rank, other_rank);
}

}  // namespace jacobi
