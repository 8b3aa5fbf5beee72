#pragma once

#include "imbrex/device/star/star_cut.h"

#if defined(__CUDACC__)

/// Device code of `star_steps`: several steps of a stencil in one pass over memory (temporal blocking). Overlapped
/// tiles, streaming in z, few and large thread blocks: as EBISU (Zhang et al., ICS'23) found best for deep blocking.
namespace imbrex::detail {

/// A pass as its kernel is told about it. Fields from cell (0, 0, 0).
struct star_task {
  const double* in = nullptr;
  double* out = nullptr;
  std::int64_t pitch = 0, plane = 0;
  star_cut cut;
  star_box there;     ///< cells beyond it have the value `outside`
  star_box readable;  ///< cells that are needed and there
  int unused = 0;     ///< no gap: rounds that are repeated are compared byte by byte
  double outside = 0.0;
};

// ------------------------------------------------------------------------------------------------ instructions

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// An 8-byte word in shared memory that one thread arrives at, and others wait for, phase by phase.
struct star_barrier {
  unsigned at;

  __device__ __forceinline__ void init() const {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
  }
  __device__ __forceinline__ void arrive() const {
    asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t, [%0];}" ::"r"(at) : "memory");
  }
  __device__ __forceinline__ void arrive_expecting(unsigned bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
#endif
  }
  __device__ __forceinline__ void wait(unsigned parity) const {
    unsigned is_over;
    do {
#if __CUDA_ARCH__ >= 900
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(is_over)
                   : "r"(at), "r"(parity)
                   : "memory");
#else
      asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(is_over)
                   : "r"(at), "r"(parity)
                   : "memory");
#endif
    } while (is_over == 0);
  }
};

/// The other thread block of a cluster of two: its shared memory.
struct star_peer {
  __device__ __forceinline__ static void synchronize() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  }
  __device__ __forceinline__ static unsigned address(unsigned here, unsigned rank) {
    unsigned there = here;
#if __CUDA_ARCH__ >= 900
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank ^ 1u));
#endif
    return there;
  }
  /// Counts 16 bytes at the barrier there when they have come.
  __device__ __forceinline__ static void store(unsigned to, double2 v, unsigned barrier) {
#if __CUDA_ARCH__ >= 900
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::"r"(to),
                 "d"(v.x), "d"(v.y), "r"(barrier)
                 : "memory");
#endif
  }
};

// ------------------------------------------------------------------------------------------------ shared memory

/// Of a thread block: the next planes of the field, on their way; the first and the last row of every warp in each
/// step, for the warps beside it, of two planes in turn; and how far the warps are.
template <int steps, int cluster>
struct star_shared {
  using shape = star_shape;
  static constexpr int planes_under_way = 3;
  static constexpr int pairs = shape::width / 2;
  static constexpr int plane_pairs = shape::rows * pairs;
  static constexpr int step_pairs = (shape::warps * 2 + (cluster > 1 ? 1 : 0)) * pairs;  ///< the last row: the peer's
  static constexpr int turn_pairs = steps * step_pairs;
  static constexpr int barriers = 2 * (shape::warps + 1);
  static constexpr int bytes = (planes_under_way * plane_pairs + 2 * turn_pairs) * 16 + barriers * 8;
};

// ------------------------------------------------------------------------------------------------ one thread

/// A thread's part of a column: pairs of cells in `rows_of_thread` rows. Of every step it holds, in turns, the latest
/// plane and the sums that lack the plane above: when that comes they are complete, and are the next step's latest
/// plane, one plane below.
template <int steps, int cluster, class Rule>
class star_thread {
  using shape = star_shape;
  using shared = star_shared<steps, cluster>;
  static constexpr int rows = shape::rows_of_thread, pairs = shared::pairs, lost_x = shape::lost_in_x(steps);

 public:
  using cells = double2[steps][rows];

  __device__ __forceinline__ star_thread(const star_task& t, const Rule& rule, double2* memory)
      : t_(t), rule_(rule), lane_(static_cast<int>(threadIdx.x)), warp_(static_cast<int>(threadIdx.y)) {
    const unsigned rank = cluster > 1 ? blockIdx.x % cluster : 0;
    const star_box own = t.cut.tile(static_cast<int>(blockIdx.x) / cluster);
    z0_ = own.z0;
    z1_ = own.z1;
    const int first_x = own.x0 - lost_x, first_y = own.y0 - steps;
    x_ = first_x + 2 * lane_;
    y_ = first_y + (static_cast<int>(rank) * shape::warps + warp_) * rows;
    // What is written, and what lies beyond the domain.
    writes_second_ = x_ + 1 < own.x1;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (x_ >= own.x0 && x_ < own.x1 && y_ + r >= own.y0 && y_ + r < own.y1) writes_ |= 1u << r;
      if (y_ + r < t.there.y0 || y_ + r >= t.there.y1) beyond_ |= 1u << r;
    }
    first_beyond_ = x_ < t.there.x0 || x_ >= t.there.x1;
    second_beyond_ = x_ + 1 < t.there.x0 || x_ + 1 >= t.there.x1;
    touches_end_ = first_x < t.there.x0 || first_x + shape::width > t.there.x1 || first_y < t.there.y0 ||
                   first_y + cluster * shape::rows > t.there.y1;
    // Memory.
    next_z_ = z0_ - steps;
    from_ = t.in + x_ + next_z_ * t.plane + y_ * t.pitch;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const bool is_row = y_ + r >= t.readable.y0 && y_ + r < t.readable.y1;
      if (is_row && x_ + 1 >= t.readable.x0 && x_ < t.readable.x1) reads_ |= 1u << r;
    }
    to_ = t.out + x_ + static_cast<std::int64_t>(z0_ - 2 * steps) * t.plane + y_ * t.pitch;
    incoming_ = memory + warp_ * rows * pairs + lane_;
    double2* const edges = memory + shared::planes_under_way * shared::plane_pairs;
    const unsigned barriers = shared_address(edges + 2 * shared::turn_pairs);
    mine_ = edges + warp_ * 2 * pairs + lane_;
    const int below = max(warp_ - 1, 0), above = min(warp_ + 1, shape::warps - 1);
    below_ = edges + (below * 2 + 1) * pairs + lane_;
    above_ = edges + above * 2 * pairs + lane_;
    done_ = barriers + 16 * warp_;
    below_done_ = barriers + 16 * below;
    above_done_ = barriers + 16 * above;
    if constexpr (cluster > 1) {
      double2* const from_peer = edges + shape::warps * 2 * pairs + lane_;
      peer_done_ = barriers + 16 * shape::warps;
      is_first_ = rank == 0;
      touches_peer_ = warp_ == (is_first_ ? shape::warps - 1 : 0);
      if (touches_peer_ && is_first_) {
        above_ = from_peer;
        above_done_ = peer_done_;
      }
      if (touches_peer_ && !is_first_) {
        below_ = from_peer;
        below_done_ = peer_done_;
      }
      peer_ = star_peer::address(shared_address(from_peer), rank);
      peer_barrier_ = star_peer::address(peer_done_, rank);
    }
    const int number_of_thread = warp_ * pairs + lane_;
    if (number_of_thread < shared::barriers) star_barrier{barriers + 8u * number_of_thread}.init();
#pragma unroll
    for (int slot = 0; slot < shared::planes_under_way; ++slot) set_outside(slot);
    __syncthreads();
    if constexpr (cluster > 1) star_peer::synchronize();
  }

  __device__ __forceinline__ void run() {
    cells a = {}, b = {};
    const int planes = z1_ - z0_ + 2 * steps;
#pragma unroll
    for (int i = 0; i < shared::planes_under_way; ++i) fetch<true>(i);
    // Planes of which all steps lie within the domain need no look at its ends.
    const int calm_from = touches_end_ ? planes : max(t_.there.z0 - z0_ + 2 * steps, 0);
    const int calm_to = min(t_.there.z1 - z0_ + steps, planes);
    int n = pairs_of_planes<true>(0, min(calm_from, planes), a, b);
    n = pairs_of_planes<false>(n, calm_to, a, b);
    n = pairs_of_planes<true>(n, planes, a, b);
    if (n < planes) plane<true, 0>(n, a, b);
    if constexpr (cluster > 1) star_peer::synchronize();  // nobody stores into the memory of one that has gone
  }

 private:
  template <bool at_ends>
  __device__ __forceinline__ int pairs_of_planes(int n, int end, cells& a, cells& b) {
#pragma unroll 1
    for (; n + 1 < end; n += 2) {
      plane<at_ends, 0>(n, a, b);
      plane<at_ends, 1>(n + 1, b, a);
    }
    return n;
  }

  /// This thread's cells of the next plane, on their way to shared memory. Those that cannot be read are, and stay,
  /// `outside`.
  template <bool at_ends>
  __device__ __forceinline__ void fetch(int slot) {
    if (next_z_ >= t_.readable.z0 && next_z_ < t_.readable.z1) {
      const unsigned to = shared_address(incoming_ + slot * shared::plane_pairs);
#if __CUDA_ARCH__ >= 800
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        if ((reads_ >> r & 1u) == 0) continue;
        const unsigned row = to + 16 * r * pairs;
        const double* const cells = from_ + r * t_.pitch;
        if (at_ends && first_beyond_) {
          asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(row + 8), "l"(cells + 1) : "memory");
        } else if (at_ends && second_beyond_) {
          asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(row), "l"(cells) : "memory");
        } else {
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(row), "l"(cells) : "memory");
        }
      }
#endif
    } else {
      set_outside(slot);
    }
    from_ += t_.plane;
    ++next_z_;
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
  }
  __device__ __forceinline__ void set_outside(int slot) const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      incoming_[slot * shared::plane_pairs + r * pairs] = make_double2(t_.outside, t_.outside);
  }

  /// Cells beyond the domain keep their value.
  __device__ __forceinline__ void keep_outside(double2 (&c)[rows], int z) const {
    const double o = t_.outside;
    const bool plane_beyond = z < t_.there.z0 || z >= t_.there.z1;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (first_beyond_) c[r].x = o;
      if (second_beyond_) c[r].y = o;
    }
    if (beyond_ != 0 || plane_beyond) {
      asm volatile("");  // a branch, seldom taken, and not two selections for each cell
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (plane_beyond || (beyond_ >> r & 1u) != 0) c[r] = make_double2(o, o);
    }
  }

  /// The n-th plane of the field comes in, and each step's sums are completed. Before, `sums` are those and `latest`
  /// the latest planes; afterwards it is the other way round.
  template <bool at_ends, int turn>
  __device__ __forceinline__ void plane(int n, cells& sums, cells& latest) {
    double2 c[rows];
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(shared::planes_under_way - 1) : "memory");
#endif
#pragma unroll
    for (int r = 0; r < rows; ++r) c[r] = incoming_[slot_ * shared::plane_pairs + r * pairs];
    const int z = z0_ - steps + n;
    if constexpr (cluster > 1) {
      if (touches_peer_ && lane_ == 0) star_barrier{peer_done_ + 8 * turn}.arrive_expecting(steps * pairs * 16);
    }
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      publish<turn>(s, c);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        double2 next;
        next.x = rule_.complete(sums[s][r].x, latest[s][r].x, c[r].x);
        next.y = rule_.complete(sums[s][r].y, latest[s][r].y, c[r].y);
        sums[s][r] = c[r];
        c[r] = next;
      }
      if constexpr (at_ends) {
        if (s < steps - 1) keep_outside(c, z - s - 1);  // after the last step only cells of the domain are written
      }
    }
    __syncwarp();
    if (lane_ == 0) star_barrier{done_ + 8 * turn}.arrive();
    if (n >= 2 * steps) write(c);
    to_ += t_.plane;
    fetch<at_ends>(slot_);
    if (++slot_ == shared::planes_under_way) slot_ = 0;
    add_up<turn>(n / 2 & 1, sums, latest);
  }

  template <int turn>
  __device__ __forceinline__ void publish(int s, const double2 (&c)[rows]) const {
    const int at = turn * shared::turn_pairs + s * shared::step_pairs;
    mine_[at] = c[0];
    mine_[at + pairs] = c[rows - 1];
    if constexpr (cluster > 1) {
      if (touches_peer_) star_peer::store(peer_ + 16 * at, is_first_ ? c[rows - 1] : c[0], peer_barrier_ + 8 * turn);
    }
  }

  __device__ __forceinline__ void write(const double2 (&c)[rows]) const {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if ((writes_ >> r & 1u) == 0) continue;
      double* const at = to_ + r * t_.pitch;
      if (writes_second_) {
        *reinterpret_cast<double2*>(at) = c[r];
      } else {
        *at = c[r].x;
      }
    }
  }

  /// The sums of all steps for the planes that have come in last. The rows in the middle first: those beside other
  /// warps' need what these have published.
  template <int turn>
  __device__ __forceinline__ void add_up(unsigned parity, const cells& latest, cells& sums) const {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int r = 1; r < rows - 1; ++r) add_up(latest[s][r], latest[s][r - 1], latest[s][r + 1], sums[s][r]);
    }
    star_barrier{below_done_ + 8 * turn}.wait(parity);
    star_barrier{above_done_ + 8 * turn}.wait(parity);
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const int at = turn * shared::turn_pairs + s * shared::step_pairs;
      add_up(latest[s][0], below_[at], latest[s][1], sums[s][0]);
      add_up(latest[s][rows - 1], latest[s][rows - 2], above_[at], sums[s][rows - 1]);
    }
  }

  /// `sum` holds the plane below.
  __device__ __forceinline__ void add_up(double2 here, double2 south, double2 north, double2& sum) const {
    const double west = __shfl_up_sync(~0u, here.y, 1), east = __shfl_down_sync(~0u, here.x, 1);
    sum.x = rule_.in_plane(here.x, west, here.y, south.x, north.x, sum.x);
    sum.y = rule_.in_plane(here.y, here.x, east, south.y, north.y, sum.y);
  }

  const star_task& t_;
  const Rule& rule_;
  const int lane_, warp_;
  int x_, y_, z0_, z1_;
  unsigned writes_ = 0, reads_ = 0, beyond_ = 0;  ///< rows, a bit each
  bool writes_second_, first_beyond_, second_beyond_, touches_end_;
  bool touches_peer_ = false, is_first_ = false;
  const double* from_;
  int next_z_;
  double* to_;
  int slot_ = 0;
  double2 *incoming_, *mine_;
  const double2 *below_, *above_;
  unsigned done_, below_done_, above_done_, peer_done_ = 0;
  unsigned peer_ = 0, peer_barrier_ = 0;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define IMBREX_STAR_CLUSTER(n)
#else
#define IMBREX_STAR_CLUSTER(n) __cluster_dims__(n, 1, 1)
#endif

template <int steps, class Rule>
__global__ void IMBREX_STAR_CLUSTER(2) __launch_bounds__(32 * star_shape::warps, 1)
    star_pair_kernel(const __grid_constant__ star_task t, const __grid_constant__ Rule rule) {
  extern __shared__ __align__(16) double2 star_memory[];
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  star_thread<steps, 2, Rule>(t, rule, star_memory).run();
#endif
}

template <int steps, class Rule>
__global__ void __launch_bounds__(32 * star_shape::warps, 1)
    star_kernel(const __grid_constant__ star_task t, const __grid_constant__ Rule rule) {
  extern __shared__ __align__(16) double2 star_memory[];
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  star_thread<steps, 1, Rule>(t, rule, star_memory).run();
#endif
}

#undef IMBREX_STAR_CLUSTER

}  // namespace imbrex::detail

#endif
