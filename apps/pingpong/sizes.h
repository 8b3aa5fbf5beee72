#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Message sizes as they are written on the command line.
namespace pingpong {

/// The largest that is accepted: 1 GiB, which a count of MPI holds.
inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 30;

/// Reads a list separated by commas, each item a number of bytes with K, M or G (powers of 1024) or without, or
/// `FROM:TO`: FROM and all its doublings up to TO. Gives them in ascending order, each once.
/// Throws usage_error naming the item that cannot be used.
std::vector<std::uint64_t> parse_sizes(std::string_view text);

/// "8", "96K", "9M": as `parse_sizes` reads it.
std::string size_text(std::uint64_t bytes);

}  // namespace pingpong
