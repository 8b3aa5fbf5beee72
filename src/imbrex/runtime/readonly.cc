#include "imbrex/runtime/readonly.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "imbrex/async/when_all.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/pe/pe_tree.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex::detail {

namespace {
std::vector<readonly_base*>& all() {
  static std::vector<readonly_base*> list;
  return list;
}
std::atomic<bool> is_sealed{false};
}  // namespace

namespace {

/// One global's value, to another rank, which passes it on to those below it; answered when all these have it.
struct readonly_value {
  std::uint64_t which = 0;
  std::vector<std::byte> bytes;
  reply_to reply;
  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which & bytes & reply;
  }
};

class load_awaiter : public reply_awaiter<void> {
 public:
  load_awaiter(pe_id to, readonly_value v) : to_(to), value_(std::move(v)) {}
  void await_suspend(std::coroutine_handle<> h) {
    value_.reply = expect(h, [](const waiter*) { return std::string("a rank to take a shared value"); });
    scheduler::current().send(to_, std::move(value_), priorities::communication);
  }
  void await_resume() { take(); }

 private:
  pe_id to_;
  readonly_value value_;
};

task<> load_at(pe_id to, std::uint64_t which, std::vector<std::byte> bytes) {
  load_awaiter loaded(to, {which, std::move(bytes), {}});
  co_await loaded;
}

/// At the ranks below this one in a tree of ranks whose root is rank 0.
task<> load_below(const rank_context& here, std::uint64_t which, std::vector<std::byte> bytes) {
  std::vector<pe_id> below;  // ranks
  pe_tree(here.num_ranks, 1).children_of(here.rank, 0, below);
  std::vector<task<>> loads;
  loads.reserve(below.size());
  for (const rank_id r : below) loads.push_back(load_at(r * here.pes_per_rank, which, bytes));
  auto all = when_all(std::move(loads));
  co_await std::move(all);
}

void readonly_value::operator()(scheduler& pe) {
  readonly_base::load_one(which, bytes);
  entry_activity::start(pe, nullptr, "sharing a read-only global", load_below(pe.rank(), which, std::move(bytes)),
                        reply, &conclude_entry<void>);
}

}  // namespace

task<> readonly_base::send_to_all() {
  scheduler& pe = scheduler::current();
  if (pe.id() != 0) throw usage_error("a read-only global is shared by the main chare alone");
  was_shared_ = true;
  const rank_context& rank = pe.rank();
  if (rank.transport == nullptr || rank.transport->shares_process()) co_return;
  const auto which = static_cast<std::uint64_t>(std::find(all().begin(), all().end(), this) - all().begin());
  auto loaded = load_below(rank, which, save());
  co_await std::move(loaded);
}

void readonly_base::load_one(std::uint64_t which, const std::vector<std::byte>& bytes) {
  if (which >= all().size()) throw comm_error("the ranks of this job run different programs");
  all()[which]->load(bytes);
}

readonly_base::readonly_base() { all().push_back(this); }
readonly_base::~readonly_base() { std::erase(all(), this); }

void readonly_base::check_settable() {
  if (is_sealed) throw usage_error("a read-only global was set after the start of the job: set it before imbrex::run");
}

void readonly_base::seal(bool sealed) {
  is_sealed = sealed;
  if (sealed) {
    for (readonly_base* r : all()) r->was_shared_ = false;
  }
}

std::vector<std::byte> readonly_base::save_shared() {
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> values;
  for (std::size_t i = 0; i < all().size(); ++i) {
    if (all()[i]->was_shared_) values.emplace_back(i, all()[i]->save());
  }
  return to_bytes(values);
}

void readonly_base::load_shared(const std::vector<std::byte>& bytes) {
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> values;
  from_bytes(bytes, values);
  for (const auto& [which, value] : values) {
    load_one(which, value);
    all()[which]->was_shared_ = true;
  }
}

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
