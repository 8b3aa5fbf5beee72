#pragma once

#include <string>
#include <utility>

#include "imbrex/comm/data/lent_buffer.h"
#include "imbrex/device/stream.h"

namespace imbrex {

/// What `channel::send` gives: `co_await` it to know that the memory may be written again: by the host when it is host
/// memory, by what is enqueued on the stream of the send from then on when it is a GPU's. Need not be awaited.
class channel_send {
 public:
  channel_send(lent_state* s, stream& in_order_of) : state_(s), stream_(&in_order_of) {}
  channel_send(channel_send&& other) noexcept : state_(std::exchange(other.state_, nullptr)), stream_(other.stream_) {}
  channel_send& operator=(channel_send&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~channel_send() {
    if (state_ != nullptr) state_->release();
  }
  /// Whether the memory has been given back (memory of a GPU: once its stream has waited for the reader's event).
  bool returned() const { return state_->returned; }

  class awaiter : public waiter {
   public:
    awaiter(lent_state* s, stream* in_order_of) : state_(s), stream_(in_order_of) { ++state_->references; }
    ~awaiter() {
      if (state_->waiting == this) state_->waiting = nullptr;
      state_->release();
    }
    bool await_ready() const { return state_->returned; }
    void await_suspend(std::coroutine_handle<> h) {
      suspend(
          h, [](const waiter*) { return std::string("the receiver of a channel to take what was sent"); },
          &moves_with_its_chare);
      state_->waiting = this;
    }
    void await_resume() const {
      stream_->wait(state_->read);
      state_->is_awaited_by_stream();
    }

   private:
    lent_state* state_;
    stream* stream_;
  };
  awaiter operator co_await() const { return awaiter(state_, stream_); }

 private:
  lent_state* state_;
  stream* stream_;
};

}  // namespace imbrex
