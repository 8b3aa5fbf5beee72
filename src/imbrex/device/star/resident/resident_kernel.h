#pragma once

#include "imbrex/device/star/resident/resident_rounds.h"

#if defined(__CUDACC__)

/// Device code of `star_resident`. A thread block for each tile, which stays where it is for all steps: a thread keeps
/// two columns of cells in registers, shared memory has them for the threads beside it, and what lies on the tile's
/// faces goes through the second-level cache to the tiles beside it, and over the link to those on other GPUs. One more
/// warp does the talking: it tells neighbours what has been stored, and waits for theirs. As in PERKS (Zhang et al.,
/// ICS'23), but tiles wait for their neighbours, not for all, and GPUs for each other.
namespace imbrex::detail {

struct resident_task {
  double* field = nullptr;
  std::int64_t pitch = 0, plane = 0;
  int nx = 0, ny = 0, nz = 0, unused = 0;
  double outside = 0.0;
  resident_rounds rounds;
};

/// Of a tile of `depth` planes. Cell (x, y) of a plane stands in shared memory at row y + 1, column x + 2.
template <int depth_>
struct resident_shape {
  static constexpr int width = resident_cut::width, depth = depth_;
  static constexpr int columns = width / 2, workers = columns * width, threads = workers + 32;
  static constexpr int pitch = width + 4, plane = pitch * (width + 2);
  static constexpr int bytes = plane * depth * static_cast<int>(sizeof(double));
  static constexpr int pairs_of_side = columns * depth, cells_of_side = width * depth;  // of sides in y, in x
};

enum resident_side { west, east, south, north, below, above, num_sides };

// ------------------------------------------------------------------------------------------------ who waits for whom

/// Barriers of the thread block. All threads: z faces are stored, the other faces are stored, all have come. The
/// workers alone: shared memory is written, all have read it.
enum resident_barrier { z_stored = 1, stored, arrived, readable, writable };

template <class Shape>
__device__ __forceinline__ void announce(resident_barrier b) {
  asm volatile("bar.arrive %0, %1;" ::"r"(static_cast<int>(b)), "n"(Shape::threads) : "memory");
}
template <class Shape>
__device__ __forceinline__ void meet(resident_barrier b) {
  asm volatile("bar.sync %0, %1;" ::"r"(static_cast<int>(b)), "n"(Shape::threads) : "memory");
}
template <class Shape>
__device__ __forceinline__ void meet_workers(resident_barrier b) {
  asm volatile("bar.sync %0, %1;" ::"r"(static_cast<int>(b)), "n"(Shape::workers) : "memory");
}

/// What the thread block has stored before is there for who sees the count.
__device__ __forceinline__ void tell(unsigned* count, unsigned value, bool other_gpu) {
#if __CUDA_ARCH__ >= 700
  if (other_gpu) {
    asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u32 [%0], %1;" ::"l"(count), "r"(value) : "memory");
  } else {
    asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(count), "r"(value) : "memory");
  }
#endif
}

/// Until the count has come that far. A neighbour that does not come for a minute has failed, and so does this kernel.
__device__ __forceinline__ void wait_for(const unsigned* count, unsigned value) {
#if __CUDA_ARCH__ >= 700
  constexpr unsigned long long patience_ns = 60'000'000'000ULL;
  unsigned long long began = 0, now;
  for (unsigned i = 1;; ++i) {
    unsigned seen;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    if (static_cast<int>(seen - value) >= 0) return;
    if (i % 4096 != 0) continue;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (began == 0) began = now;
    if (now - began > patience_ns) __trap();
  }
#endif
}

/// Where the faces of a tile go: into its neighbours' inboxes, and their counters.
struct resident_ways {
  double* out[num_sides] = {};  ///< null: there is no neighbour
  unsigned* told[num_sides] = {};
  bool far_below = false, far_above = false;  ///< on another GPU

  __device__ __forceinline__ resident_ways(const resident_rounds& r, int tile) {
    const int nx = r.cut.tiles_x, ny = r.cut.tiles_y, nz = r.cut.tiles_z;
    const int x = tile % nx, y = tile / nx % ny, z = tile / (nx * ny), in_plane = tile - z * nx * ny;
    set(west, x > 0, r.own, tile - 1);
    set(east, x + 1 < nx, r.own, tile + 1);
    set(south, y > 0, r.own, tile - nx);
    set(north, y + 1 < ny, r.own, tile + nx);
    far_below = z == 0 && r.below.faces != nullptr;
    far_above = z + 1 == nz && r.above.faces != nullptr;
    set(below, z > 0 || far_below, far_below ? r.below : r.own,
        far_below ? in_plane + nx * ny * (r.tiles_z_below - 1) : tile - nx * ny);
    set(above, z + 1 < nz || far_above, far_above ? r.above : r.own, far_above ? in_plane : tile + nx * ny);
  }

 private:
  __device__ __forceinline__ void set(resident_side s, bool is_there, const resident_inbox& of, int tile) {
    if (!is_there) return;
    const int opposite = s ^ 1;
    out[s] = of.faces + static_cast<std::int64_t>(tile) * resident_inbox::of_tile + opposite * 2 * resident_inbox::face;
    told[s] = of.counts + tile * resident_inbox::counters + opposite;
  }
};

/// The warp that talks; each of its first six lanes for one side.
template <class Shape>
__device__ __forceinline__ void talk(const resident_rounds& r, const resident_ways& ways, int tile, int lane) {
  unsigned* to = nullptr;
#pragma unroll
  for (int s = 0; s < num_sides; ++s) {
    if (lane == s) to = ways.told[s];
  }
  const unsigned* const from = r.own.counts + tile * resident_inbox::counters + lane;
  const bool is_z = lane == below || lane == above, has_neighbour = to != nullptr;
  const bool is_far = (lane == below && ways.far_below) || (lane == above && ways.far_above);
#pragma unroll 1
  for (int n = 0; n < r.num; ++n) {
    const unsigned state = r.before + n + 1;
    meet<Shape>(z_stored);
    if (is_z && has_neighbour) tell(to, state, is_far);
    meet<Shape>(stored);
    if (!is_z && has_neighbour) tell(to, state, false);
    if (has_neighbour) wait_for(from, state);
    __syncwarp();
    meet<Shape>(arrived);
  }
}

// ------------------------------------------------------------------------------------------------ those who compute

__device__ __forceinline__ double2 pair_of(const double* p) { return *reinterpret_cast<const double2*>(p); }
__device__ __forceinline__ void put_pair(double* p, double2 v) { *reinterpret_cast<double2*>(p) = v; }
/// By the second-level cache, where others see it and from where theirs comes.
__device__ __forceinline__ double2 pair_from_others(const double* p) {
  return __ldcg(reinterpret_cast<const double2*>(p));
}
__device__ __forceinline__ void give_pair(double* p, double2 v) { __stcg(reinterpret_cast<double2*>(p), v); }

/// A tile's faces in x and y, between shared memory and inboxes: pair i of a side in y stands in plane i / columns,
/// cell i of one in x in plane i / width.
template <class Shape>
struct resident_faces {
  double* const cells;  ///< shared memory
  const int worker;

  __device__ __forceinline__ int y_place(int i, int row) const {
    return i / Shape::columns * Shape::plane + (row + 1) * Shape::pitch + 2 + 2 * (i % Shape::columns);
  }
  __device__ __forceinline__ int x_place(int i, int column) const {
    return i / Shape::width * Shape::plane + (i % Shape::width + 1) * Shape::pitch + 2 + column;
  }
  __device__ __forceinline__ void give(const resident_ways& ways, int at) const {
#pragma unroll
    for (int i = worker; i < Shape::pairs_of_side; i += Shape::workers) {
      if (ways.out[south] != nullptr) give_pair(ways.out[south] + at + 2 * i, pair_of(cells + y_place(i, 0)));
      if (ways.out[north] != nullptr)
        give_pair(ways.out[north] + at + 2 * i, pair_of(cells + y_place(i, Shape::width - 1)));
    }
#pragma unroll
    for (int i = worker; i < Shape::cells_of_side; i += Shape::workers) {
      if (ways.out[west] != nullptr) __stcg(ways.out[west] + at + i, cells[x_place(i, 0)]);
      if (ways.out[east] != nullptr) __stcg(ways.out[east] + at + i, cells[x_place(i, Shape::width - 1)]);
    }
  }
  /// All loads come first.
  __device__ __forceinline__ void take(const resident_ways& ways, const double* inbox, int at) const {
    constexpr int in_y = (Shape::pairs_of_side + Shape::workers - 1) / Shape::workers;
    constexpr int in_x = (Shape::cells_of_side + Shape::workers - 1) / Shape::workers;
    const auto face = [&](resident_side s) { return inbox + s * 2 * resident_inbox::face + at; };
    double2 s[in_y], n[in_y];
    double w[in_x], e[in_x];
#pragma unroll
    for (int k = 0; k < in_y; ++k) {
      const int i = worker + k * Shape::workers;
      if (i >= Shape::pairs_of_side) break;
      if (ways.out[south] != nullptr) s[k] = pair_from_others(face(south) + 2 * i);
      if (ways.out[north] != nullptr) n[k] = pair_from_others(face(north) + 2 * i);
    }
#pragma unroll
    for (int k = 0; k < in_x; ++k) {
      const int i = worker + k * Shape::workers;
      if (i >= Shape::cells_of_side) break;
      if (ways.out[west] != nullptr) w[k] = __ldcg(face(west) + i);
      if (ways.out[east] != nullptr) e[k] = __ldcg(face(east) + i);
    }
#pragma unroll
    for (int k = 0; k < in_y; ++k) {
      const int i = worker + k * Shape::workers;
      if (i >= Shape::pairs_of_side) break;
      if (ways.out[south] != nullptr) put_pair(cells + y_place(i, -1), s[k]);
      if (ways.out[north] != nullptr) put_pair(cells + y_place(i, Shape::width), n[k]);
    }
#pragma unroll
    for (int k = 0; k < in_x; ++k) {
      const int i = worker + k * Shape::workers;
      if (i >= Shape::cells_of_side) break;
      if (ways.out[west] != nullptr) cells[x_place(i, -1)] = w[k];
      if (ways.out[east] != nullptr) cells[x_place(i, Shape::width)] = e[k];
    }
  }
};

/// A thread's two columns: where they lie, and which of their cells there are.
struct resident_columns {
  double* field;  ///< of the first cell
  bool first, second;
  int num_planes;

  template <class Shape>
  static __device__ __forceinline__ resident_columns of(const resident_task& t, int tile, int worker) {
    const resident_cut& c = t.rounds.cut;
    const int x = tile % c.tiles_x * Shape::width + 2 * (worker % Shape::columns);
    const int y = tile / c.tiles_x % c.tiles_y * Shape::width + worker / Shape::columns;
    const int z = tile / (c.tiles_x * c.tiles_y) * Shape::depth;
    return {t.field + z * t.plane + static_cast<std::int64_t>(y) * t.pitch + x, x < t.nx && y < t.ny,
            x + 1 < t.nx && y < t.ny, min(t.nz - z, Shape::depth)};
  }
  __device__ __forceinline__ double2 load(int z, std::int64_t plane, double outside) const {
    const double* const at = field + z * plane;
    if (first && second && z < num_planes) return pair_of(at);
    return {first && z < num_planes ? at[0] : outside, outside};
  }
  __device__ __forceinline__ void store(int z, std::int64_t plane, double2 v) const {
    double* const at = field + z * plane;
    if (z >= num_planes) return;
    if (first && second) {
      put_pair(at, v);
    } else if (first) {
      at[0] = v.x;
    }
  }
};

/// `is_even`: rows have an even number of cells.
template <class Shape, bool is_even, class Rule>
__device__ __forceinline__ void compute(const resident_task& t, const Rule& rule, const resident_ways& ways, int tile,
                                        int worker, double* cells) {
  constexpr int depth = Shape::depth;
  const resident_rounds& r = t.rounds;
  const resident_columns mine = resident_columns::of<Shape>(t, tile, worker);
  const double2 outside{t.outside, t.outside};
  const int top = mine.num_planes - 1;
  double2 v[depth];
#pragma unroll
  for (int z = 0; z < depth; ++z) v[z] = mine.load(z, t.plane, t.outside);
  for (int i = worker; i < Shape::plane * depth; i += Shape::workers) cells[i] = t.outside;  // what nobody sends
  meet_workers<Shape>(writable);
  double* const here = cells + (worker / Shape::columns + 1) * Shape::pitch + 2 + 2 * (worker % Shape::columns);
  const resident_faces<Shape> faces{cells, worker};
  const double* const inbox = r.own.faces + static_cast<std::int64_t>(tile) * resident_inbox::of_tile;
  int at = static_cast<int>(r.before & 1) * resident_inbox::face;  // of this state, in each side of an inbox
  const auto give_z = [&](double2 lowest, double2 highest) {
    if (ways.out[below] != nullptr) give_pair(ways.out[below] + at + 2 * worker, lowest);
    if (ways.out[above] != nullptr) give_pair(ways.out[above] + at + 2 * worker, highest);
    announce<Shape>(z_stored);
  };
  const auto updated = [&](int z, double2 under, double2 c, double2 over) {
    const double* const p = here + z * Shape::plane;
    const double2 s = pair_of(p - Shape::pitch), n = pair_of(p + Shape::pitch);
    const double w = p[-1], e = p[2], beside = is_even || mine.second ? c.y : t.outside;
    return double2{rule.complete(rule.in_plane(c.x, w, beside, s.x, n.x, under.x), c.x, over.x),
                   rule.complete(rule.in_plane(c.y, c.x, e, s.y, n.y, under.y), c.y, over.y)};
  };
  // Cells that are not there are computed, too, but not shown to others, who go on seeing what is outside.
  const auto show = [&] {
    if (mine.second) {
#pragma unroll
      for (int z = 0; z < depth; ++z) put_pair(here + z * Shape::plane, v[z]);
    } else if (mine.first) {
#pragma unroll
      for (int z = 0; z < depth; ++z) here[z * Shape::plane] = v[z].x;
    }
  };
  show();
  meet_workers<Shape>(readable);
  if (r.num > 0) give_z(v[0], pair_of(here + top * Shape::plane));
#pragma unroll 1
  for (int n = 0; n < r.num; ++n) {
    faces.give(ways, at);
    announce<Shape>(stored);
    meet<Shape>(arrived);
    double2 under = outside, over = outside;
    if (ways.out[below] != nullptr)
      under = pair_from_others(inbox + below * 2 * resident_inbox::face + at + 2 * worker);
    if (ways.out[above] != nullptr) over = pair_from_others(inbox + above * 2 * resident_inbox::face + at + 2 * worker);
    faces.take(ways, inbox, at);
    meet_workers<Shape>(readable);
    at ^= resident_inbox::face;
    // What other GPUs wait for comes first.
    const double2 lowest = updated(0, under, v[0], top == 0 ? over : v[1]);
    const double2 highest =
        top == 0 ? lowest
                 : updated(top, pair_of(here + (top - 1) * Shape::plane), pair_of(here + top * Shape::plane), over);
    if (n + 1 < r.num) give_z(lowest, highest);
    double2 before = v[0];
    v[0] = lowest;
#pragma unroll
    for (int z = 1; z < depth - 1; ++z) {
      const double2 was = v[z];
      v[z] = updated(z, before, was, v[z + 1]);
      if (z == top) v[z] = highest;
      before = was;
    }
    v[depth - 1] = highest;
    meet_workers<Shape>(writable);
    show();
    meet_workers<Shape>(readable);
  }
#pragma unroll
  for (int z = 0; z < depth; ++z) mine.store(z, t.plane, v[z]);
}

template <class Shape, bool is_even, class Rule>
__global__ void __launch_bounds__(Shape::threads, 1)
    resident_kernel(const __grid_constant__ resident_task t, const __grid_constant__ Rule rule) {
  extern __shared__ double2 resident_cells[];
  const int tile = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const resident_ways ways(t.rounds, tile);
  if (thread >= Shape::workers) {
    talk<Shape>(t.rounds, ways, tile, thread - Shape::workers);
  } else {
    compute<Shape, is_even>(t, rule, ways, tile, thread, reinterpret_cast<double*>(resident_cells));
  }
}

}  // namespace imbrex::detail

#endif
