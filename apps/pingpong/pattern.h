#pragma once

#include <cstddef>
#include <cstdint>

/// What messages hold, so that a wrong, old or misplaced byte shows: a function of round, sender and place.
namespace pingpong {

/// Writes the message that `player` sends in `round`.
void fill_pattern(std::byte* to, std::size_t bytes, std::uint64_t round, int player);

/// How many bytes differ from it.
std::uint64_t count_wrong(const std::byte* data, std::size_t bytes, std::uint64_t round, int player);

}  // namespace pingpong
