#pragma once

namespace imbrex {

struct hetero_data;

/// What tasks have reduced into an object and is not in it yet: apart from it, until somebody uses the object
/// otherwise. Those of a domain are in a ring. For the domain's PE.
class open_reduction {
 public:
  /// A ring of nobody but this.
  open_reduction() = default;
  open_reduction(open_reduction& ring, hetero_data& object) : object_(&object), before_(ring.before_), after_(&ring) {
    before_->after_ = this;
    ring.before_ = this;
  }
  virtual ~open_reduction() {
    before_->after_ = after_;
    after_->before_ = before_;
  }
  open_reduction(const open_reduction&) = delete;
  open_reduction& operator=(const open_reduction&) = delete;

  /// Ends it: tasks of that priority are submitted that bring it into the object.
  virtual void close(int priority) { static_cast<void>(priority); }
  /// Into which.
  hetero_data& object() const { return *object_; }
  /// The next in the ring.
  open_reduction& next() const { return *after_; }

 private:
  hetero_data* object_ = nullptr;
  open_reduction* before_ = this;
  open_reduction* after_ = this;
};

}  // namespace imbrex
