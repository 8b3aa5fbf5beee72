#include "wait.h"

#include "tasks/recording.h"

namespace imbrex_python {

ix::task<value> wait::go() {
  if (!begin)
    throw ix::usage_error("it has been awaited before: what call, allreduce and the like give is awaited once");
  return std::exchange(begin, nullptr)();
}

void wait::do_otherwise() const {
  if (ix::executor::current() == nullptr) return;  // the job is over
  try {
    otherwise_();
  } catch (const std::exception& e) {
    const nb::error_scope thrown_meanwhile;
    PyErr_SetString(PyExc_RuntimeError, e.what());
    PyErr_WriteUnraisable(nullptr);
  }
}

wait::~wait() {
  if (!begin || (unawaited_ == nullptr && !otherwise_) || !Py_IsInitialized()) return;
  const with_python here;
  otherwise_ ? do_otherwise() : warn();
}

void wait::warn() const {
  const nb::error_scope thrown_meanwhile;
  if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%s was never awaited", unawaited_) != 0)
    PyErr_WriteUnraisable(nullptr);
}

wait_pointer wait_of(nb::handle o) {
  wait_pointer w;
  if (o.is_none() || !nb::try_cast(o, w)) return nullptr;  // of None it would be a null pointer
  return w;
}

namespace {

/// Others that are ready on this PE go first.
class others_first : public ix::waiter {
 public:
  static bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    suspend(h, [](const waiter*) { return std::string("its turn"); });
    wake();
  }
  static void await_resume() {}
};
ix::task<value> after_others() {
  others_first turn;
  co_await turn;
  co_return value();
}

/// How far a coroutine of Python has come: what it awaits, or what it has returned.
struct step {
  wait_pointer awaits;
  value returned;
};

step returned(nb::handle stop) { return {nullptr, value(nb::object(stop.attr("value")))}; }

/// What its wait gave goes to a coroutine, or is thrown there; so is why that cannot be read.
nb::object go_on(nb::handle coroutine, const value& sent, const std::exception_ptr& failed) {
  if (failed) return coroutine.attr("throw")(as_python_exception(failed));
  nb::object got;
  try {
    got = sent.get();
  } catch (nb::python_error& e) {
    return coroutine.attr("throw")(nb::borrow(e.value()));
  }
  return coroutine.attr("send")(got);
}

step advance(PyObject* coroutine, const value& sent, const std::exception_ptr& failed, const char* where) {
  const with_python here;
  try {
    const nb::object what = go_on(coroutine, sent, failed);
    if (give_up_recording()) {
      throw ix::usage_error(std::string(where) +
                            " awaits something while a window is recorded: record it first, then wait");
    }
    // A bare `yield`, as of asyncio.sleep(0).
    if (what.is_none()) return {std::make_shared<wait>(&after_others), {}};
    wait_pointer w = wait_of(what);
    if (w == nullptr)
      throw ix::usage_error(std::string(where) + " awaits something that is not of imbrex: " + shown(what));
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

/// A wait, or a coroutine, which begins when that is awaited.
wait_pointer branch_of(const nb::object& o) {
  if (wait_pointer w = wait_of(o)) return w;
  if (!nb::hasattr(o, "send")) throw ix::usage_error("gather takes what can be awaited, not " + shown(o));
  return std::make_shared<wait>([coroutine = value(o)] {
    const with_python here;
    return drive(owned(coroutine.get().release().ptr()), "a coroutine that was gathered");
  });
}

ix::task<value> one_of_all(wait_pointer w) {
  ix::task<value> waiting = w->go();
  value v = co_await std::move(waiting);
  co_return v;
}

ix::task<value> all_begun(const std::vector<wait_pointer>& waits) {
  std::vector<ix::task<value>> branches;
  for (const wait_pointer& w : waits) branches.push_back(one_of_all(w));
  return all_of(std::move(branches));
}

}  // namespace

wait_pointer gather(std::vector<nb::object> all) {
  std::vector<wait_pointer> waits;
  for (const nb::object& o : all) waits.push_back(branch_of(o));
  return std::make_shared<wait>([waits] { return all_begun(waits); });
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
  return std::make_shared<wait>([f = std::move(f)] { return until_set(f); }, "a wait for a message of a slot");
}

}  // namespace imbrex_python
