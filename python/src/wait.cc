#include "wait.h"

#include "recording.h"

namespace imbrex_python {

ix::task<value> wait::go() {
  if (!begin)
    throw ix::usage_error("it has been awaited before: what call, allreduce and the like give is awaited once");
  return std::exchange(begin, nullptr)();
}

namespace {

/// How far a coroutine of Python has come: what it awaits, or what it has returned.
struct step {
  wait_pointer awaits;
  value returned;
};

step returned(nb::handle stop) { return {nullptr, value(nb::object(stop.attr("value")))}; }

step advance(PyObject* coroutine, const value& sent, const std::exception_ptr& failed, const char* where) {
  const with_python here;
  try {
    const nb::handle c(coroutine);
    const nb::object what = failed ? c.attr("throw")(as_python_exception(failed)) : c.attr("send")(sent.get());
    if (give_up_recording()) {
      throw ix::usage_error(std::string(where) +
                            " awaits something while a window is recorded: record it first, then wait");
    }
    wait_pointer w;
    if (!nb::try_cast(what, w)) {
      throw ix::usage_error(std::string(where) +
                            " awaits something that is not of imbrex: " + nb::cast<std::string>(nb::repr(what)));
    }
    return {std::move(w), {}};
  } catch (nb::python_error& e) {
    if (e.matches(PyExc_StopIteration)) return returned(e.value());
    throw python_failure::of(e, where);
  }
}

}  // namespace

ix::task<value> drive(owned coroutine, const char* where) {
  value sent;
  std::exception_ptr failed;
  for (;;) {
    step s = advance(coroutine.get(), sent, failed, where);
    if (s.awaits == nullptr) co_return s.returned;
    failed = nullptr;
    sent = {};
    try {
      ix::task<value> waiting = s.awaits->go();
      value got = co_await std::move(waiting);
      sent = std::move(got);
    } catch (...) {
      failed = std::current_exception();
    }
  }
}

namespace {

ix::task<value> all_of(std::vector<ix::task<value>> branches) {
  auto both = ix::when_all(std::move(branches));
  const std::vector<value> all = co_await std::move(both);
  const with_python here;
  nb::list list;
  for (const value& v : all) list.append(v.get());
  co_return value(list);
}

ix::task<value> branch_of(const nb::object& o) {
  wait_pointer w;
  if (nb::try_cast(o, w)) return w->go();
  if (!nb::hasattr(o, "send")) {
    throw ix::usage_error("gather takes what can be awaited, not " + nb::cast<std::string>(nb::repr(o)));
  }
  return drive(owned(nb::object(o).release().ptr()), "a coroutine that was gathered");
}

}  // namespace

wait_pointer gather(std::vector<nb::object> all) {
  auto branches = std::make_shared<std::vector<ix::task<value>>>();
  for (const nb::object& o : all) branches->push_back(branch_of(o));
  return std::make_shared<wait>([branches] { return all_of(std::move(*branches)); });
}

// ------------------------------------------------------------------------------------------------ futures

class future::awaiter : public ix::waiter {
 public:
  explicit awaiter(future& f) : future_(f) {}
  ~awaiter() {
    if (!handle) return;  // never suspended, or resumed
    if (future_.waiting_ == this) {
      future_.waiting_ = nullptr;
    } else {
      home->withdraw(this);
    }
  }
  bool await_ready() const { return future_.is_set_; }
  void await_suspend(std::coroutine_handle<> h) {
    if (future_.waiting_ != nullptr) throw ix::usage_error("two coroutines await " + future_.what_);
    suspend(h, [](const waiter* w) { return static_cast<const awaiter*>(w)->future_.what_; });
    future_.waiting_ = this;
  }
  void await_resume() { handle = nullptr; }

 private:
  future& future_;
};

void future::set(const nb::object& v) {
  if (is_set_) throw ix::usage_error(what_ + " has happened before");
  is_set_ = true;
  value_ = value(v);
  if (ix::waiter* const w = std::exchange(waiting_, nullptr); w != nullptr) w->wake();
}

ix::task<value> future::until_set(std::shared_ptr<future> f) {
  awaiter waiting(*f);
  co_await waiting;
  co_return f->value_;
}

wait_pointer future::wait_for(std::shared_ptr<future> f) {
  return std::make_shared<wait>([f = std::move(f)] { return until_set(f); });
}

}  // namespace imbrex_python
