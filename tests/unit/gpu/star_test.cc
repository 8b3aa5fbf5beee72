// Several steps of a star in one pass or one kernel, against plain loops on the host: the same bits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <imbrex/imbrex.h>
#include <imbrex/object/repeat/resident_star.h>

#include <random>
#include <string>
#include <vector>

#include "gpu_fixture.h"
#include "imbrex/device/star/star_on_host.h"
#include "star_kernels.h"
#include "unit/object/job.h"

namespace star_test {

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

struct sizes {
  int nx, ny, nz;
  std::size_t cells() const { return static_cast<std::size_t>(nx * ny * nz); }
};

double initial(std::size_t i) { return static_cast<double>(i * 2654435761U % 1000003) / 1000003; }

ix::star_grid grid_of(const sizes& n, int pitch, double outside) {
  ix::star_grid g;
  g.nx = n.nx;
  g.ny = n.ny;
  g.nz = n.nz;
  g.pitch = pitch;
  g.plane = pitch * n.ny;
  g.outside = outside;
  return g;
}

std::vector<double> expected(const sizes& n, int steps, double outside) {
  std::vector<double> field(n.cells()), other(n.cells());
  for (std::size_t i = 0; i < field.size(); ++i) field[i] = initial(i);
  const ix::star_grid g = grid_of(n, n.nx, outside);
  const double* const last = ix::star_steps_on_host(g, field.data(), other.data(), steps, uneven_rule{0.2});
  return last == field.data() ? field : other;
}

struct problem {
  sizes n{};
  std::vector<int> launches;
  bool resident = false;

  int pitch() const { return (n.nx + 5) / 2 * 2; }
  int num_steps() const {
    int all = 0;
    for (const int l : launches) all += l;
    return all;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n.nx & n.ny & n.nz & launches & resident;
  }
};

/// Some planes of the whole, one above the other.
struct slab : ix::chare<slab, ix::index1d> {
  ix::task<> run(problem p) {
    constexpr double outside = 0.75;
    const int z0 = p.n.nz * index().x / extent().x, z1 = p.n.nz * (index().x + 1) / extent().x;
    sizes mine = p.n;
    mine.nz = z1 - z0;
    ix::star_grid g = grid_of(mine, p.pitch(), outside);
    g.open[static_cast<int>(ix::star_side::z_low)] = index().x > 0;
    g.open[static_cast<int>(ix::star_side::z_high)] = index().x + 1 < extent().x;
    const auto size = static_cast<std::size_t>(g.plane * g.nz);
    const auto row = [&](int y, int z) { return static_cast<std::size_t>(z * g.plane + y * g.pitch); };
    ix::buffer<double> field(on_device(), size), other(on_device(), size),
        host(on_device(), size, ix::memory_kind::pinned);
    const std::size_t first = static_cast<std::size_t>(z0) * static_cast<std::size_t>(p.n.nx * p.n.ny);
    std::size_t i = first;
    for (int z = 0; z < g.nz; ++z) {
      for (int y = 0; y < g.ny; ++y) {
        for (int x = 0; x < g.nx; ++x) host.data()[row(y, z) + static_cast<std::size_t>(x)] = initial(i++);
      }
    }
    ix::stream& s = streams().compute;
    ix::copy<double>(field, host, s);
    const double* last = field.data();
    ix::resident_star together;
    if (p.resident) {
      auto connected = together.connect(*this, g);
      co_await connected;
      for (const int n : p.launches) uneven_resident(s, g, field.data(), together.rounds(n));
    } else {
      last = uneven_steps(s, g, field.data(), other.data(), p.num_steps());
    }
    s.copy(host.data(), last, size * sizeof(double));
    co_await s.done();
    const std::vector<double> all = expected(p.n, p.num_steps(), outside);
    std::int64_t num_wrong = 0;
    i = first;
    for (int z = 0; z < g.nz; ++z) {
      for (int y = 0; y < g.ny; ++y) {
        for (int x = 0; x < g.nx; ++x) num_wrong += host.data()[row(y, z) + static_cast<std::size_t>(x)] != all[i++];
      }
    }
    contribute(num_wrong, ix::sum);
  }
};

ix::task<int> job(ix::runtime& rt, problem p, std::int64_t* num_wrong) {
  const auto all = rt.create_array<slab>(ix::index1d(rt.num_pes()));
  all.broadcast<&slab::run>(p);
  *num_wrong = co_await all.reduction<std::int64_t>();
  co_return 0;
}

void expect_the_same(const problem& p, int gpus) {
  SCOPED_TRACE(fmt::format("{} x {} x {}, {} steps on {} GPUs", p.n.nx, p.n.ny, p.n.nz, p.num_steps(), gpus));
  std::int64_t num_wrong = -1;
  command_line line(job_shape{gpus}, {"--imbrex-device=cuda", fmt::format("--imbrex-gpus={}", gpus)});
  EXPECT_EQ(ix::run(line.count(), line.values(), job, p, &num_wrong), 0);
  EXPECT_EQ(num_wrong, 0);
}

class star_on_gpus : public testing::TestWithParam<int> {};

TEST_P(star_on_gpus, resident_has_the_bits_of_plain_loops) {
  SKIP_WITHOUT_GPU(GetParam());
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto up_to = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (const sizes& n : {sizes{24, 24, 12 * GetParam()}, {1, 1, GetParam()}, {48, 49, 25 * GetParam()}})
    expect_the_same({n, {1, 2, 0, 3}, true}, GetParam());
  for (int i = 0; i < 30; ++i) {
    problem p{{up_to(1, 80), up_to(1, 80), GetParam() * up_to(1, 30) + up_to(0, GetParam() - 1)}, {}, true};
    for (int k = up_to(1, 4); k > 0; --k) p.launches.push_back(up_to(0, 9));
    expect_the_same(p, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(, star_on_gpus, testing::Values(1, 2, 4));

TEST(star_on_a_gpu, several_steps_have_the_bits_of_plain_loops) {
  SKIP_WITHOUT_GPU(1);
  std::mt19937 random(1);
  for (int i = 0; i < 30; ++i) {
    const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    expect_the_same({{up_to(150), up_to(90), up_to(40)}, {up_to(9)}, false}, 1);
  }
}

}  // namespace

}  // namespace star_test
