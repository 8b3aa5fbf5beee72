#include "imbrex/runtime/readonly.h"

#include <algorithm>
#include <atomic>

namespace imbrex::detail {

namespace {
std::vector<readonly_base*>& all() {
  static std::vector<readonly_base*> list;
  return list;
}
std::atomic<bool> is_sealed{false};
}  // namespace

readonly_base::readonly_base() { all().push_back(this); }
readonly_base::~readonly_base() { std::erase(all(), this); }

void readonly_base::check_settable() {
  if (is_sealed) throw usage_error("a read-only global was set after the start of the job: set it before imbrex::run");
}

void readonly_base::seal(bool sealed) { is_sealed = sealed; }

std::vector<std::byte> readonly_base::save_all() {
  std::vector<std::vector<std::byte>> values;
  for (const readonly_base* r : all()) values.push_back(r->save());
  return to_bytes(values);
}

void readonly_base::load_all(const std::vector<std::byte>& bytes) {
  std::vector<std::vector<std::byte>> values;
  from_bytes(bytes, values);
  if (values.size() != all().size()) throw comm_error("the ranks of this job run different programs");
  for (std::size_t i = 0; i < values.size(); ++i) all()[i]->load(values[i]);
}

}  // namespace imbrex::detail
