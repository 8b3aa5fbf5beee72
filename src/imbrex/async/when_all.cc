#include "imbrex/async/when_all.h"

#include <exception>
#include <string>

#include "imbrex/async/executor.h"

namespace imbrex::detail {

namespace {

class failed_branch final : public waiter {
 public:
  explicit failed_branch(const std::exception_ptr& thrown) : thrown_(thrown) {
    suspend(std::noop_coroutine(), &text, &moves_with_its_chare);
  }

 private:
  static std::string text(const waiter* w) {
    std::string first = "the others of several that are awaited at once, of which one has thrown";
    try {
      std::rethrow_exception(static_cast<const failed_branch*>(w)->thrown_);
    } catch (const std::exception& e) {
      return first + ": " + e.what();
    } catch (...) {
      return first;
    }
  }
  std::exception_ptr thrown_;
};

}  // namespace

std::shared_ptr<waiter> note_failed_branch(const std::exception_ptr& thrown) {
  if (executor::current() == nullptr) return nullptr;
  return std::make_shared<failed_branch>(thrown);
}

}  // namespace imbrex::detail
