#include "variant.h"

#include <fmt/format.h>

#include <algorithm>

namespace dgemm {

const char* name(variant v) {
  constexpr const char* names[] = {"naive", "tasks", "pinned", "pool", "transfer", "queues"};
  return names[static_cast<int>(v)];
}

const char* description(variant v) {
  switch (v) {
    case variant::naive: return "no tasks: allocate, copy, launch, free (the CUDA runtime alone, or malloc and memcpy)";
    case variant::tasks: return "tasks without the optimisations below";
    case variant::pinned: return "and page-locked memory of the host";
    case variant::pool: return "and memory of the device from a pool";
    case variant::transfer: return "and a stream for each direction of copies";
    case variant::queues: return "and several streams for kernels: what a program gets that chooses nothing";
  }
  return "?";
}

std::vector<variant> parse_variants(std::string_view text) {
  std::vector<variant> found;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const auto* const at = std::ranges::find_if(all_variants, [&](variant v) { return word == name(v); });
    if (at == all_variants.end())
      throw imbrex::usage_error(fmt::format("there is no variant '{}': see --help for those there are", word));
    if (std::ranges::find(found, *at) == found.end()) found.push_back(*at);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (found.empty()) throw imbrex::usage_error("--variants is empty: see --help for those there are");
  std::ranges::sort(found);
  return found;
}

std::string why_not(variant v, imbrex::device_kind on) {
  if (v == variant::pinned && on == imbrex::device_kind::host)
    return "the host copies to itself: page-locked memory makes no difference";
  if (v == variant::pinned && on == imbrex::device_kind::opencl)
    return "page-locked memory is that of a CUDA GPU: with OpenCL the host's copies lie in ordinary memory";
  if (v == variant::pool && on == imbrex::device_kind::opencl)
    return "memory of OpenCL devices always comes from the pool: kernels are told of its slabs";
  if (v == variant::naive && on == imbrex::device_kind::opencl) return "the baseline is written for CUDA and the host";
  return {};
}

imbrex::hetero_options options_of(variant v, int lanes) {
  imbrex::hetero_options o;
  o.pinned_host_copies = v >= variant::pinned;
  o.pooled_memory = v >= variant::pool;
  o.transfer_lanes = v >= variant::transfer;
  o.compute_lanes = v >= variant::queues ? lanes : 1;
  return o;
}

}  // namespace dgemm
