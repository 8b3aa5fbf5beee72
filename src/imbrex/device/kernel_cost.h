#pragma once

/// Includes nothing of coroutines: nvcc reads it.
namespace imbrex {

class stream;

/// What a kernel moves and computes, as far as whoever launches it knows: what it takes follows from that and from the
/// device (docs/virtual-time.md).
struct kernel_cost {
  double bytes = 0;  ///< read and written, of the device's memory
  double flops = 0;
  constexpr bool is_known() const { return bytes > 0 || flops > 0; }
};

/// `s.expect(c)`, for files that do not know what a stream is.
void expect(stream& s, const kernel_cost& c);

}  // namespace imbrex
