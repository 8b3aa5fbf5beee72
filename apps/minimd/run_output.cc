#include "run_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "output/report.h"
#include "output/screen.h"
#include "output/yaml.h"
#include "support/output_place.h"

namespace md {

std::vector<dump_atom> dump_atoms(const domain& box) {
  const atom_arrays& a = box.atoms();
  std::vector<dump_atom> atoms;
  atoms.reserve(static_cast<std::size_t>(a.num_own));
  for (std::int32_t i = 0; i < a.num_own; ++i)
    atoms.push_back({a.id[i], 1, {a.x[i].x, a.x[i].y, a.x[i].z}, {a.v[i].x, a.v[i].y, a.v[i].z}});
  return atoms;
}

void print_head(const options& o, const run_facts& f) {
  if (o.quiet) return;
  for (const std::string& note : o.notes) fmt::print("{}\n", note);
  fmt::print("{}{}", header_text(f), columns_text());
  std::fflush(stdout);
}

void check_outputs(const options& o) {
  apps::check_output(o.report);
  apps::check_output(o.yaml);
  for (const std::string& path : o.dumps) check_dump_suffix(path);
}

void note_facts(run_facts& f, const block_facts& done, int num_threads) {
  const double each = 1e-9 / num_threads;
  phase_times& t = f.seconds;
  t.total = f.thermo.back().seconds;
  t.force = static_cast<double>(done.force_ns) * each;
  t.neighbour = static_cast<double>(done.neighbour_ns) * each;
  t.other = static_cast<double>(done.other_ns) * each;
  t.communication = std::max(0.0, t.total - t.force - t.neighbour - t.other);
  f.memory_bytes = done.bytes;
}

void conclude(const options& o, const run_facts& f) {
  if (!o.quiet) fmt::print("{}", summary_text(f));
  std::fflush(stdout);
  if (!o.yaml.empty()) write_yaml_file(o.yaml, f);
  if (o.yaml_screen) write_yaml(std::cout, f);
  if (!o.report.empty()) write_report(o.report, f);
}

}  // namespace md
