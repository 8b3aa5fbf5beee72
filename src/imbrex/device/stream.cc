#include "imbrex/device/stream.h"

#include <exception>

#include "imbrex/async/executor.h"

namespace imbrex {

stream::stream(std::string label) : label_(std::move(label)) {
  const executor* const pe = executor::current();
  actor_ties* const ties = pe != nullptr ? pe->ties_of_acting() : nullptr;
  if (ties == nullptr) return;
  follower_.self = this;
  follower_.leave = [](actor_follower& f, departure&) { of(f).leave(); };
  follower_.is_idle = [](const actor_follower& f) { return of(f).idle(); };
  follower_.arrive = [](actor_follower& f, executor& here) {
    stream& s = of(f);
    s.arrive(here.device_like != nullptr ? *here.device_like(here, s.on()) : s.on());
  };
  follower_.link(*ties);
}

void expect(stream& s, const kernel_cost& c) { s.expect(c); }

void stream::copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                       std::size_t num_rows) {
  for (std::size_t i = 0; i < num_rows; ++i) {
    copy(static_cast<std::byte*>(to) + i * to_pitch, static_cast<const std::byte*>(from) + i * from_pitch, bytes);
  }
}

void stream::perform(executor& pe, stream_operation* op) {
  const char* const name = op->name;
  pe.does(name);
  try {
    op->act(op, work_action::run);
  } catch (const std::exception& e) {
    pe.fail(std::string(name) + " in " + label() + " threw: " + e.what());
  } catch (...) {
    pe.fail(std::string(name) + " in " + label() + " threw an exception that is no std::exception");
  }
}

void stream::launched(const char* name, const launch_shape&, stream_operation* body) {
  if (body != nullptr) body->act(body, work_action::discard);
  throw usage_error(std::string("kernel '") + name + "' was given to " + label_ + " as to a simulated device");
}

}  // namespace imbrex
