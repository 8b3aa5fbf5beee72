#pragma once

#include <imbrex/imbrex.h>

#include <memory>

#include "run_setup.h"

namespace md {

inline box_index box_of(const imbrex::index3d& i) { return {i.x, i.y, i.z}; }
inline imbrex::index3d index_of(const box_index& b) { return {b[0], b[1], b[2]}; }

/// The same model for all boxes of a process, as long as one of them has it. Any thread.
std::shared_ptr<const model> shared_model(const run_setup& s, const box_index& cut);

}  // namespace md
