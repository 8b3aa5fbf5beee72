#include "chare_parts.h"

#include <numeric>
#include <utility>

namespace imbrex_python {

namespace {

thread_local chare_parts* of_this_thread = nullptr;

template <class T>
T part_of(const std::vector<T>& all, std::size_t i) {
  if (i >= all.size()) throw ix::usage_error("the state of a chare names something that did not come with it");
  return all[i];
}

}  // namespace

chare_parts::in_use::in_use(chare_parts& p) : before_(std::exchange(of_this_thread, &p)) {}
chare_parts::in_use::~in_use() { of_this_thread = before_; }
chare_parts* chare_parts::current() { return of_this_thread; }

std::size_t chare_parts::keep(const bytes_object& o) {
  objects_.push_back(o);
  return objects_.size() - 1;
}

std::size_t chare_parts::keep(const std::shared_ptr<channel_state>& c) {
  channels_.push_back(c);
  return channels_.size() - 1;
}

bytes_object chare_parts::object(std::size_t i) const { return part_of(objects_, i); }
std::shared_ptr<channel_state> chare_parts::channel(std::size_t i) const { return part_of(channels_, i); }

std::size_t chare_parts::num_bytes() const {
  return std::accumulate(objects_.begin(), objects_.end(), std::size_t{0},
                         [](std::size_t n, const bytes_object& o) { return n + o.size(); });
}

}  // namespace imbrex_python
