#include "imbrex/object/hetero_pointer.h"

#include "imbrex/object/data/object_desk.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex::detail {

namespace {

/// Data for an exposed object. The answer comes when they are in place.
struct put_object_request {
  global_object to;
  object_parcel data;
  reply_to reply;

  void operator()(scheduler& pe) {
    object_failure why;
    try {
      object_desk& desk = object_desk::of(pe);
      return desk.fill(desk.find(to.number), std::move(data), reply);
    } catch (...) {
      why = object_failure::of(std::current_exception());
    }
    pe.send(
        reply.pe,
        reply_body<void>{reply, outcome<std::monostate>(std::in_place_index<1>, failure{nullptr, why.kind, why.what})},
        priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & to & data & reply;
  }
};

struct get_object_answer {
  std::uint64_t arrival = 0;
  object_parcel data;
  object_failure why_not;

  void operator()(scheduler& pe) {
    object_desk& desk = object_desk::of(pe);
    why_not.kind.empty() ? desk.grant(arrival, std::move(data)) : desk.refuse(arrival, why_not);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & arrival & data & why_not;
  }
};

struct get_object_request {
  global_object from;
  std::uint64_t arrival = 0;
  pe_id pe = no_pe;

  void operator()(scheduler& here) {
    get_object_answer a{arrival, {}, {}};
    try {
      a.data = object_parcel::of(object_desk::of(here).find(from.number));
    } catch (...) {
      a.why_not = object_failure::of(std::current_exception());
    }
    here.send(pe, std::move(a), priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from & arrival & pe;
  }
};

class put_awaiter : public reply_awaiter<void> {
 public:
  put_awaiter(const global_object& to, object_parcel data) : to_(to), data_(std::move(data)) {}
  void await_suspend(std::coroutine_handle<> h) {
    const reply_to r = expect(h, [](const waiter*) { return std::string("a put into an object"); });
    scheduler::current().send(to_.pe, put_object_request{to_, std::move(data_), r}, priorities::communication);
  }
  void await_resume() { take(); }

 private:
  const global_object to_;
  object_parcel data_;
};

class get_awaiter : public reply_awaiter<void> {
 public:
  get_awaiter(const global_object& from, hetero_data& to) : from_(from), to_(to) {}
  void await_suspend(std::coroutine_handle<> h) {
    scheduler& pe = scheduler::current();
    const reply_to r = expect(h, [](const waiter*) { return std::string("a get from an object"); });
    const std::uint64_t arrival = object_desk::of(pe).expect(to_, r);
    pe.send(from_.pe, get_object_request{from_, arrival, pe.id()}, priorities::communication);
  }
  void await_resume() { take(); }

 private:
  const global_object from_;
  hetero_data& to_;
};

void check_domain(const char* what, const hetero_data& d) {
  if (&d.domain->pe() == &scheduler::current()) return;
  throw usage_error(fmt::format("a {} with an object of another PE: its own PE has to do that", what));
}

/// A put or get of an object with itself.
bool is_itself(const global_object& there, const hetero_data& here) {
  scheduler& pe = scheduler::current();
  return there.pe == pe.id() && object_desk::of(pe).number_of(here) == there.number;
}

}  // namespace

global_object expose(hetero_data& d) {
  scheduler& pe = scheduler::current();
  return {pe.id(), object_desk::of(pe).expose(d), d.bytes};
}

void check_sizes(const char* what, std::size_t theirs, std::size_t ours) {
  if (theirs == ours) return;
  throw usage_error(fmt::format(
      "a {} between an object of {} elements there and one of {} here: the sizes must be equal", what, theirs, ours));
}

task<> put_object(global_object to, hetero_data* from) {
  check_domain("put", *from);
  if (is_itself(to, *from)) co_return;
  put_awaiter done(to, object_parcel::of(*from));
  co_await done;
}

task<> get_object(global_object from, hetero_data* to) {
  check_domain("get", *to);
  if (is_itself(from, *to)) co_return;
  get_awaiter done(from, *to);
  co_await done;
}

}  // namespace imbrex::detail
