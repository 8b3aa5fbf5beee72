#include "imbrex/runtime/readonly.h"

#include <algorithm>
#include <atomic>

#include "imbrex/object/collection/entry_message.h"
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

/// One global's value, to another rank.
struct readonly_value {
  std::uint64_t which = 0;
  std::vector<std::byte> bytes;
  reply_to reply;
  void operator()(scheduler& pe) {
    readonly_base::load_one(which, bytes);
    send_reply<void>(pe, reply, std::monostate{});
  }
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

}  // namespace

task<> readonly_base::send_to_all() {
  scheduler& pe = scheduler::current();
  if (pe.id() != 0) throw usage_error("a read-only global is shared by the main chare alone");
  const rank_context& rank = pe.rank();
  if (rank.transport == nullptr || rank.transport->shares_process()) co_return;
  const auto which = static_cast<std::uint64_t>(std::find(all().begin(), all().end(), this) - all().begin());
  for (rank_id r = 1; r < rank.num_ranks; ++r) {
    load_awaiter loaded(r * rank.pes_per_rank, {which, save(), {}});
    co_await loaded;
  }
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
