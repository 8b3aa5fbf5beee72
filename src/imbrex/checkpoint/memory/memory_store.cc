#include "imbrex/checkpoint/memory/memory_store.h"

#include <algorithm>
#include <utility>

namespace imbrex {

const std::vector<std::byte>* memory_part::image_of(std::int32_t rank) const {
  if (rank == about.rank) return &image;
  const auto found = restored.find(rank);
  return found == restored.end() ? nullptr : &found->second;
}

memory_part& memory_store::begin(std::uint64_t number) {
  drop(number);
  memory_part p;
  p.image = std::move(spare_.image);
  p.parity = std::move(spare_.parity);
  spare_ = {};
  p.about.number = number;
  parts_.push_back(std::move(p));
  return parts_.back();
}

memory_part* memory_store::find(std::uint64_t number) {
  const auto found = std::ranges::find_if(parts_, [&](const memory_part& p) { return p.about.number == number; });
  return found == parts_.end() ? nullptr : &*found;
}

std::uint64_t memory_store::largest_number() const {
  std::uint64_t largest = 0;
  for (const memory_part& p : parts_) largest = std::max(largest, p.about.number);
  return largest;
}

void memory_store::commit(std::uint64_t number) {
  for (memory_part& p : parts_) {
    if (p.about.number < number) spare_ = std::move(p);
  }
  spare_.restored.clear();
  std::erase_if(parts_, [&](const memory_part& p) { return p.about.number < number; });
}

void memory_store::drop(std::uint64_t number) {
  std::erase_if(parts_, [&](const memory_part& p) { return p.about.number == number; });
}

void memory_store::keep_only(std::uint64_t number) {
  std::erase_if(parts_, [&](const memory_part& p) { return p.about.number != number; });
}

std::vector<memory_part_facts> memory_store::facts(std::int64_t now_ns) const {
  std::vector<memory_part_facts> all;
  for (const memory_part& p : parts_) {
    if (!p.is_whole) continue;
    all.push_back(p.about);
    all.back().made_ago_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - p.made_at_ns, 0));
  }
  return all;
}

}  // namespace imbrex
