#include "chares/shared_model.h"

#include <mutex>

namespace md {

std::shared_ptr<const model> shared_model(const run_setup& s, const box_index& cut) {
  static std::mutex guard;
  static std::weak_ptr<const model> last;
  const std::lock_guard lock(guard);
  auto m = last.lock();
  if (m != nullptr && m->boxes.boxes() == cut) return m;
  m = std::make_shared<const model>(s.model_of(cut));
  last = m;
  return m;
}

}  // namespace md
