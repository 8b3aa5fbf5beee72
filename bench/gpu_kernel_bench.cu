// The Jacobi update kernels of one GPU in many shapes, against what the GPU copies.
//
//   gpu_kernel_bench [SIZE...]        SIZE is N for a cube or NXxNYxNZ; default 768 192 192x192x48 1536
//
// Needs nothing of imbrex but headers: nvcc -std=c++20 -fmad=false -O3 -arch=sm_90 -Isrc -Iapps/jacobi3d
// bench/gpu_kernel_bench.cu builds it, too.
//
// Every variant's first result is compared bit for bit with that of a kernel of one cell per thread. Then all variants
// are timed briefly, and the fastest of each kernel's variants makes its row; the best rows are timed again: medians of
// 7 timings of at least 20 iterations that alternate two fields. The kernels count 16 bytes for each cell, the copies
// what they read and write. "alternating" goes through the planes backwards in odd iterations.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "gpu_kernel_bench_problem.cuh"
#include "kernels/gpu_fused.cuh"
#include "kernels/gpu_update.cuh"

namespace {

using namespace jacobi;
using namespace jacobi::bench;
using gpu::march_shape;

template <class Shape>
std::string text_of(const char* what) {
  char text[128];
  std::snprintf(text, sizeof(text), "%s, %d planes%s, %d blocks/SM", what, Shape::planes,
                Shape::beyond_cache ? " beyond cache" : "", Shape::resident);
  return text;
}

/// Strips as they are chosen, half and twice as high, and none.
std::vector<int> strips_of(const gpu_tiling& t) {
  std::vector<int> all{t.strip, std::max(t.strip / 2, 1), std::min(2 * t.strip, t.ny), t.ny};
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

template <class Shape>
void add_update(std::vector<variant>& all, const problem& p) {
  const extents& n = p.layout.size;
  for (int depth : {4, 8, 16, 32}) {
    for (const int strip : strips_of(gpu_tiling::of(n, gpu_cut{depth}))) {
      for (const bool alternating : {false, true}) {
        gpu::update_task t;
        t.x1 = t.nx = static_cast<int>(n.nx);
        t.y1 = static_cast<int>(n.ny);
        t.z1 = static_cast<int>(n.nz);
        t.tiling = gpu_tiling::of(n, gpu_cut{depth});
        t.tiling.set_strip(strip);
        const auto run = [=](int i) mutable {
          t.field = gpu::view(p.layout, p.fields[i % 2], p.fields[1 - i % 2], {true, 0.0});
          t.backwards = alternating && i % 2 != 0;
          gpu::update_kernel<Shape, false>
              <<<static_cast<unsigned>(t.tiling.total()), dim3(Shape::columns, Shape::rows)>>>(t);
        };
        all.push_back({text_of<Shape>("update"),
                       "depth " + std::to_string(depth) + ", strips of " + std::to_string(strip) +
                           (alternating ? ", alternating" : ""),
                       run});
      }
    }
  }
}

/// Of a block without neighbours.
void add_fused(std::vector<variant>& all, const problem& p) {
  const extents& n = p.layout.size;
  if (n.nx % 2 != 0) return;
  const auto parts = [](std::int64_t whole, int part) { return static_cast<unsigned>((whole + part - 1) / part); };
  for (const int depth : {4, 6, 8, 12}) {
    imbrex::kernel_batch<gpu::fused_task> batch;
    gpu::fused_task& t = batch.one;
    t.nx = static_cast<int>(n.nx);
    t.ny = static_cast<int>(n.ny);
    t.nz = static_cast<int>(n.nz);
    t.pitch = static_cast<int>(p.layout.pitch);
    t.plane = static_cast<int>(p.layout.plane);
    t.depth = depth;
    t.x_fixed = 1;
    t.tiling = gpu_tiling::of(n, gpu_cut{depth});
    const auto add = [&](const char* name, auto kernel, dim3 blocks, dim3 threads) {
      const auto run = [=](int i) mutable {
        batch.one.in = p.fields[i % 2] + p.layout.origin;
        batch.one.out = p.fields[1 - i % 2] + p.layout.origin;
        kernel<<<blocks, threads>>>(batch);
      };
      all.push_back({name, "depth " + std::to_string(depth), run});
    };
    add("fused, small blocks", gpu::small_block_kernel<true, false>,
        {parts(n.nx, 64), parts(n.ny, 4), parts(n.nz, depth)}, {32, 4});
    const dim3 tiles(static_cast<unsigned>(t.tiling.total())), threads(gpu_tiling::cells / 2, gpu_tiling::rows);
    add("fused, in the cache", gpu::large_block_kernel<gpu::block_in_cache, true, false>, tiles, threads);
    add("fused, near the cache", gpu::large_block_kernel<gpu::block_near_cache, true, false>, tiles, threads);
    add("fused, beyond the cache", gpu::large_block_kernel<gpu::block_beyond_cache, true, false>, tiles, threads);
  }
}

std::vector<variant> variants_of(problem& p) {
  std::vector<variant> all;
  add_update<gpu::near_cache>(all, p);
  add_update<gpu::beyond_cache>(all, p);
  add_update<march_shape<4, false, 512>>(all, p);
  add_fused(all, p);
  return all;
}

/// The fastest of each kernel's variants, fastest first.
std::vector<variant> fastest_of_each(const std::vector<variant>& all) {
  std::map<std::string, variant> fastest;
  for (const variant& v : all) {
    const auto [at, inserted] = fastest.try_emplace(v.kernel, v);
    if (!inserted && v.us < at->second.us) at->second = v;
  }
  std::vector<variant> rows;
  for (const auto& [kernel, v] : fastest) rows.push_back(v);
  std::ranges::sort(rows, {}, &variant::us);
  return rows;
}

/// Prints both copies' rows; TB/s of cudaMemcpyAsync.
double measure_copies(const problem& p) {
  const std::int64_t count = p.layout.doubles();
  const double bytes = static_cast<double>(count) * sizeof(double);
  const double us = microseconds(
      [&](int i) {
        check(cudaMemcpyAsync(p.fields[1 - i % 2], p.fields[i % 2], static_cast<std::size_t>(count) * sizeof(double),
                              cudaMemcpyDeviceToDevice),
              "cudaMemcpyAsync");
      },
      20, 7);
  const double kernel_us = microseconds(
      [&](int i) {
        const auto pairs = [&](int k) { return reinterpret_cast<double2*>(p.fields[k]); };
        copy_kernel<<<static_cast<unsigned>((count / 2 + 255) / 256), 256>>>(pairs(i % 2), pairs(1 - i % 2), count / 2);
      },
      20, 7);
  std::printf("  %10.2f us %6.3f TB/s         cudaMemcpyAsync\n", us, 2e-6 * bytes / us);
  std::printf("  %10.2f us %6.3f TB/s %6.3f  copy kernel\n", kernel_us, 2e-6 * bytes / kernel_us, us / kernel_us);
  return 2e-6 * bytes / us;
}

void measure(extents size) {
  problem p = make(size);
  const auto cells = static_cast<double>(size.cells());
  std::printf("%lld x %lld x %lld, pitch %lld\n", static_cast<long long>(size.nx), static_cast<long long>(size.ny),
              static_cast<long long>(size.nz), static_cast<long long>(p.layout.pitch));
  std::vector<variant> all = variants_of(p);
  std::erase_if(all, [&](const variant& v) { return !correct(p, v); });
  const double copy = measure_copies(p);
  for (variant& v : all) v.us = microseconds(v.run, size.cells() < 100'000'000 ? 20 : 4, 1);
  std::vector<variant> rows = fastest_of_each(all);
  const std::size_t finalists = std::min<std::size_t>(rows.size(), 10);
  const auto last = rows.begin() + static_cast<std::ptrdiff_t>(finalists);
  for (auto v = rows.begin(); v != rows.end(); ++v)  // the step's rows are always wanted exactly
    if (v < last || v->kernel.starts_with("step"))
      v->us = microseconds(v->run, size.cells() < 10'000'000 ? 200 : 20, 7);
  std::sort(rows.begin(), last, [](const variant& a, const variant& b) { return a.us < b.us; });
  for (const variant& v : rows) {
    const double rate = 16e-6 * cells / v.us;
    std::printf("%c %10.2f us %6.3f TB/s %6.3f  %s; %s\n", &v == &rows[0] ? '*' : ' ', v.us, rate, rate / copy,
                v.kernel.c_str(), v.details.c_str());
    std::fflush(stdout);
  }
  destroy(p);
}

extents parse(const char* text) {
  long long nx = 0, ny = 0, nz = 0;
  const int found = std::sscanf(text, "%lldx%lldx%lld", &nx, &ny, &nz);
  if (found == 1) ny = nz = nx;
  if ((found != 1 && found != 3) || nx < 1 || ny < 1 || nz < 1 || ny > 65535 || nz > 65535) {
    std::fprintf(stderr, "gpu_kernel_bench: '%s' is no size: give N or NXxNYxNZ\n", text);
    std::exit(2);
  }
  return {nx, ny, nz};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<const char*> sizes(argv + 1, argv + argc);
  if (sizes.empty()) sizes = {"768", "192", "192x192x48", "1536"};
  for (const char* s : sizes) measure(parse(s));
}
