#pragma once

#include <array>
#include <cstdint>

/// The splittable stream of random numbers that trees are drawn from: a node's state is the SHA-1 digest of its
/// parent's state and its own number among the children, so that whoever has a node can draw all below it (Olivier et
/// al., LCPC 2006, 2.2). All numbers are big-endian, as in the benchmark's own generator, whose trees these are, node
/// for node. Any thread.
namespace uts {

using stream_state = std::array<unsigned char, 20>;

/// Of the root: the digest of 16 zero bytes and the seed.
stream_state root_state(std::uint32_t seed);

/// Of child `number`, counted from 0.
stream_state child_state(const stream_state& parent, std::uint32_t number);

/// What the state says: a number evenly distributed over 0 <= x < 1, a multiple of 2^-31.
double drawn_from(const stream_state& s);

}  // namespace uts
