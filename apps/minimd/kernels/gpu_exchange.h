#pragma once

#include <cstdint>

#include "kernels/gpu_system.h"

/// What boxes on GPUs send each other: atoms that leave, ghosts' positions, ghosts' slopes. Which atoms those are is
/// found on the GPU; the host hears how many. Every function enqueues into the stream and returns; memory is the GPU's.
namespace md {

/// The boxes around, each image of one a target of its own. Targets of the same box stand together.
inline constexpr int most_gpu_targets = 26;
struct gpu_targets {
  int num = 0;
  signed char offset[most_gpu_targets][3] = {};
  unsigned char image[most_gpu_targets] = {};  ///< by which what goes there is shifted, as in `gpu_staged`
};

/// Atoms for each target: their places, with the image they go as, target after target, in the order of places.
struct gpu_chosen {
  std::uint32_t* counts = nullptr;  ///< `gpu_counts_of`
  gpu_staged* atoms = nullptr;
};
/// Numbers that choosing among `n` atoms takes.
std::size_t gpu_counts_of(const gpu_targets& t, std::uint32_t n);
std::size_t gpu_scan_scratch(std::size_t counts);

enum class gpu_choice { leavers, ghosts };
/// Counts who goes to each target: those that are in its box, or within reach of it. `first` gets for each target the
/// place where its atoms will begin, and at the end their number.
void gpu_count(imbrex::stream& s, const gpu_bricks& b, const gpu_targets& t, gpu_choice who, std::uint32_t n,
               const vector4* x, std::uint32_t* counts, void* scratch, std::size_t scratch_bytes, std::uint32_t* first);
/// Notes them, after `gpu_count` of the same.
void gpu_choose(imbrex::stream& s, const gpu_bricks& b, const gpu_targets& t, gpu_choice who, std::uint32_t n,
                const vector4* x, const gpu_chosen& chosen);

/// An atom on its way to another box; its id is in x.w, bit by bit.
struct gpu_mover {
  vector4 x, v;
};

void gpu_pack_movers(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const gpu_staged* chosen, gpu_atoms atoms,
                     gpu_mover* out);
void gpu_pack_positions(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const gpu_staged* chosen,
                        const vector4* x, vector4* out);
void gpu_pack_slopes(imbrex::stream& s, std::uint32_t n, const gpu_staged* chosen, const double* slope, double* out);

/// What came from each box around.
template <class T>
struct gpu_messages {
  int num = 0;
  const T* from[most_gpu_targets] = {};
  std::uint32_t first[most_gpu_targets + 1] = {};  ///< where each's begin, and all end

  std::uint32_t count() const { return first[num]; }
  void add(const T* message, std::uint32_t n) {
    from[num] = message;
    first[num + 1] = first[num] + n;
    ++num;
  }
};
/// One after another to `to`.
void gpu_unpack(imbrex::stream& s, const gpu_messages<vector4>& m, vector4* to);
void gpu_unpack(imbrex::stream& s, const gpu_messages<double>& m, double* to);
/// Behind the first `n` atoms.
void gpu_unpack(imbrex::stream& s, const gpu_messages<gpu_mover>& m, std::uint32_t n, gpu_atoms atoms);

}  // namespace md
