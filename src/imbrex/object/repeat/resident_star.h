#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/star/resident/resident_rounds.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/reduction.h"

namespace imbrex {

/// Where the GPUs of a process meet while they do steps of a star by themselves (`star_resident`): for the chares of an
/// array of which each has a GPU of its own and lies above the one before in z, in the order of their indices.
///
///     co_await resident_.connect(*this, grid_);                       // once, all chares
///     gpu_steps(s, grid_, now_.data(), resident_.rounds(1000));       // as often as wanted: calls star_resident
///
/// A member of its chare, which stays on its PE from then on. The GPUs' kernels have ended before it does.
class resident_star {
 public:
  /// All chares of the array call it, and wait for one another. `g` is the block of this one; open below and above
  /// where there is a neighbour. Throws `usage_error`, to all of them, where this cannot be: chares of several
  /// processes, not on GPUs of CUDA, or two on one; GPUs that do not reach each other's memory; blocks that are too
  /// large for a GPU's registers, or empty; an array that extends in x or y. Which of these, and of which chare, it
  /// says.
  template <class C>
  task<> connect(C& self, star_grid g) {
    static_assert(is_grid_index<typename C::index_type>, "imbrex: a resident_star is for the chares of an array");
    const std::uint64_t num = volume(self.extent()), number = linear(self.index(), self.extent());
    auto made = make_room(self.on_device(), g, is_a_stack(self.extent()), number, num);
    std::vector<std::uint64_t> places = co_await made;
    auto asked = self.allreduce(std::move(places), sum);
    const std::vector<std::uint64_t> all = co_await std::move(asked);
    meet_neighbours(self.on_device(), all, number, num);
    self.pin();
  }
  /// Why such a block cannot be done by `d`, or nothing. Here and now: `connect` asks, too.
  static std::string why_not(device& d, const star_grid& g);
  bool is_connected() const { return rounds_.own.faces != nullptr; }
  /// For `num` steps, which are launched next. All chares ask for as many.
  resident_rounds rounds(int num);

 private:
  static constexpr bool is_a_stack(index1d) { return true; }
  static constexpr bool is_a_stack(index2d e) { return e.x == 1; }
  static constexpr bool is_a_stack(index3d e) { return e.x == 1 && e.y == 1; }
  /// What all have to know of this one, at its place among theirs.
  task<std::vector<std::uint64_t>> make_room(device& d, star_grid g, bool is_stack, std::uint64_t number,
                                             std::uint64_t num);
  void meet_neighbours(device& d, const std::vector<std::uint64_t>& all, std::uint64_t number, std::uint64_t num);

  buffer<double> faces_;
  buffer<unsigned> counts_;
  resident_rounds rounds_;
};

}  // namespace imbrex
