// The forces of miniMD by a kernel of the dialect, one source for every device, beside the tuned ones.
//
//   bench_force_sources [cells] [repeats] --imbrex-pes=1                       one thread: one source, then tuned (AVX)
//   bench_force_sources 64 20 --imbrex-device=cuda --imbrex-pes=1              beside `minimd --device cuda -s 64`
//   bench_force_sources 32 20 --imbrex-device=opencl --imbrex-pes=1
//
// Prints millions of atoms a second whose forces were computed, medians of the repeats, and compares all forces.
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "force_sources.hk"
#include "forces/lennard_jones.h"
#include "run_setup.h"
#include "system/domain.h"
#include "system/serial_run.h"

namespace ix = imbrex;

namespace {

/// A lattice whose atoms have moved for a few steps' worth, with ghosts and full lists.
struct liquid {
  explicit liquid(std::int64_t cells) {
    md::options o;
    o.what.cells.fill(cells);
    o.lists = md::list_style::full;
    const md::run_setup setup(o);
    model.emplace(setup.model_of({1, 1, 1}));
    box.emplace(*model, md::box_index{0, 0, 0});
    md::make_whole_system(*box, *model, nullptr);
    find_ghosts();
    for (int i = 0; i < 20; ++i) box->first_half_step();  // forces are nothing yet: straight on
    find_ghosts();
    lists.emplace(model->boxes.reach(), model->lists);
    lists->build(box->atoms(), box->lo(), box->hi());
  }
  std::size_t num_atoms() const { return static_cast<std::size_t>(box->num_atoms()); }
  void find_ghosts() {
    static_cast<void>(box->take_leavers());
    box->sort();
    box->forget_ghosts();
    std::vector<double> message;
    for (int r = 0; r < box->num_rounds(); ++r) {
      box->choose_ghosts(r);
      for (int k = box->first_link(r); k < box->first_link(r + 1); ++k) {
        box->pack_ghosts(box->opposite(k), message);
        box->add_ghosts(k, message);
      }
    }
  }

  std::optional<md::model> model;
  std::optional<md::domain> box;
  std::optional<md::neighbour_lists> lists;
};

/// As the kernel wants them: side by side for the CPU, row by row for GPUs.
struct rows {
  rows(const liquid& all, bool transposed) {
    const auto n = static_cast<int>(all.num_atoms());
    int most = 0;
    for (int i = 0; i < n; ++i) {
      const auto listed = all.lists->end_of(i) - all.lists->begin_of(i);
      most = std::max(most, static_cast<int>(listed));
      num.push_back(static_cast<int>(listed));
    }
    per_atom = transposed ? 1 : most;
    per_row = transposed ? n : 1;
    entries.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(most));
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < num[static_cast<std::size_t>(i)]; ++k)
        entries[static_cast<std::size_t>(i) * per_atom + static_cast<std::size_t>(k) * per_row] =
            all.lists->begin_of(i)[k];
  }
  std::vector<int> num, entries;
  int per_atom = 0, per_row = 0;
};

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

class bench : public ix::chare<bench> {
 public:
  ix::task<bool> run(int cells, int repeats) {
    const liquid all(cells);
    ix::device& d = on_device();
    const rows lists(all, d.kind() != ix::device_kind::host);
    const md::atom_arrays& a = all.box->atoms();
    const std::size_t n = all.num_atoms();
    ix::buffer<double> x(d, 4 * a.x.size()), f(d, 4 * n);
    ix::buffer<int> num(d, n), entries(d, lists.entries.size());
    ix::stream& s = streams().compute;
    s.copy(x.data(), a.x.data(), a.x.size() * sizeof(md::vector4));
    s.copy(num.data(), lists.num.data(), n * sizeof(int));
    s.copy(entries.data(), lists.entries.data(), lists.entries.size() * sizeof(int));
    co_await s.done();
    std::vector<double> rate;
    for (int r = 0; r < repeats; ++r) {
      const auto began = ix::now_ns();
      ix::launch(s, pair_forces, ix::launch_shape::over(n, 128), static_cast<int>(n), all.model->pairs.cutoff_square,
                 x.data(), num.data(), entries.data(), lists.per_atom, lists.per_row, f.data());
      co_await s.done();
      rate.push_back(static_cast<double>(n) * 1e3 / static_cast<double>(ix::now_ns() - began));
    }
    std::vector<double> one_source(4 * n);
    s.copy(one_source.data(), f.data(), 4 * n * sizeof(double));
    co_await s.done();
    fmt::print("{} atoms, one source on {}: {:.2f} M atoms/s\n", n, d.name(), median(rate));
    co_return tuned_agrees(all, one_source, repeats);
  }

 private:
  static bool tuned_agrees(const liquid& all, const std::vector<double>& one_source, int repeats) {
    const md::atom_arrays& a = all.box->atoms();
    const std::size_t n = all.num_atoms();
    std::vector<md::vector4> f(a.x.size());
    const md::force_work work{
        .x = a.x.data(), .f = f.data(), .lists = &*all.lists, .num_own = a.num_own, .num_whole = a.num_own};
    const auto tuned = md::lennard_jones_forces(md::list_style::full, md::best_instruction_set());
    std::vector<double> rate;
    for (int r = 0; r < repeats; ++r) {
      const auto began = ix::now_ns();
      tuned(all.model->pairs, work);
      rate.push_back(static_cast<double>(n) * 1e3 / static_cast<double>(ix::now_ns() - began));
    }
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double theirs[3] = {f[i].x, f[i].y, f[i].z};
      for (std::size_t k = 0; k < 3; ++k)
        worst = std::max(worst, std::abs(theirs[k] - one_source[4 * i + k]) / (1 + std::abs(theirs[k])));
    }
    fmt::print("tuned, one thread of the CPU, {}: {:.2f} M atoms/s; forces differ by {:.1e} at most\n",
               md::name(md::best_instruction_set()), median(rate), worst);
    return worst < 1e-9;
  }
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int cells = !arguments.empty() ? std::stoi(arguments[0]) : 32;
  const int repeats = arguments.size() > 1 ? std::stoi(arguments[1]) : 20;
  const auto one = rt.create_on<bench>(0);
  const bool good = co_await one.call<&bench::run>(cells, repeats);
  co_return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
