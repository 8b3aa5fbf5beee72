#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The bars of Figure 8 in Thomadakis and Chrisochoides 2024: each has what the one before it has, and one thing more.
namespace dgemm {

enum class variant : std::uint8_t {
  naive,     ///< no tasks: allocate, copy, compute, free, one after the other
  tasks,     ///< tasks of coherent objects, with nothing of what follows
  pinned,    ///< page-locked memory of the host
  pool,      ///< memory of the device from a pool
  transfer,  ///< streams for copies apart from that for kernels
  queues,    ///< several streams for kernels: the default
};
inline constexpr std::array all_variants{variant::naive, variant::tasks,    variant::pinned,
                                         variant::pool,  variant::transfer, variant::queues};

const char* name(variant v);
const char* description(variant v);
/// A list with commas. Throws `usage_error` that names what is unknown.
std::vector<variant> parse_variants(std::string_view text);

/// Why there is no such variant on that kind of device; empty: there is.
std::string why_not(variant v, imbrex::device_kind on);

/// How a domain is set up; `lanes` is the number of streams for kernels of `queues`.
imbrex::hetero_options options_of(variant v, int lanes);

}  // namespace dgemm
