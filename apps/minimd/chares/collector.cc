#include "chares/collector.h"

#include <memory>

namespace md {

imbrex::task<> collector::collect(std::vector<std::string> paths, std::vector<std::int64_t> steps,
                                  std::int64_t num_blocks, std::int64_t num_atoms, vector3 box) {
  std::vector<std::unique_ptr<dump_writer>> writers;
  writers.reserve(paths.size());
  for (const std::string& path : paths) writers.push_back(open_dump(path));
  for (const std::int64_t step : steps) {
    for (const auto& w : writers) w->begin_frame(step, num_atoms, box);
    for (std::int64_t n = 0; n < num_blocks; ++n) {
      const auto [atoms] = co_await frame(step);
      for (const auto& w : writers) w->atoms(atoms);
    }
    for (const auto& w : writers) w->end_frame();
  }
}

}  // namespace md
