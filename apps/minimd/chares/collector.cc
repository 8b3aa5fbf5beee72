#include "chares/collector.h"

#include <iterator>
#include <utility>

namespace md {

void collector::open(const std::vector<std::string>& paths, std::int64_t num_blocks, std::int64_t num_atoms,
                     vector3 box) {
  num_blocks_ = num_blocks;
  num_atoms_ = num_atoms;
  box_ = box;
  for (const std::string& path : paths) {
    const auto at = places_.find(path);
    writers_[path] = at == places_.end() ? open_dump(path) : continue_dump(path, at->second);
  }
}

// A block sends its frames in order, so a frame that is complete comes after all that are earlier.
void collector::frame(std::int64_t step, std::vector<dump_atom> atoms) {
  auto& parts = incomplete_[step];
  parts.push_back(std::move(atoms));
  if (std::ssize(parts) < num_blocks_) return;
  for (const auto& [path, writer] : writers_) {
    writer->begin_frame(step, num_atoms_, box_);
    for (const auto& part : parts) writer->atoms(part);
    writer->end_frame();
  }
  incomplete_.erase(step);
}

void collector::note_places() {
  places_.clear();
  for (const auto& [path, writer] : writers_) places_[path] = writer->place();
}

}  // namespace md
