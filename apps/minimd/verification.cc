#include "verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "system/serial_run.h"

namespace md {
namespace {

double difference(double a, double b) { return std::abs(a - b) / std::max(1.0, std::abs(b)); }

}  // namespace

bool verify(const run_setup& s, const run_facts& f) {
  const double tolerance = s.given().what.single ? 1e-4 : 1e-9;
  const model m = s.model_of({1, 1, 1});
  serial_run alone(m, s.initial());
  const std::int64_t last = std::min<std::int64_t>(s.given().what.single ? 100 : 200, m.what.steps);
  double worst = 0;
  std::size_t num_compared = 0;
  alone.run(last, [&](const thermo_row& row) {
    const auto found = std::ranges::find(f.thermo, row.step, &thermo_row::step);
    if (found == f.thermo.end()) return;
    ++num_compared;
    for (const double d : {difference(found->temperature, row.temperature), difference(found->energy, row.energy),
                           difference(found->pressure, row.pressure)})
      worst = d <= worst ? worst : d;  // no number is worst
  });
  const bool good = worst <= tolerance && num_compared > 0;
  fmt::print("{}: {} states up to step {} differ from those of one box, stepped by a loop, by {:.2g} at most\n",
             good ? "verified" : "WRONG", num_compared, last, worst);
  return good;
}

}  // namespace md
