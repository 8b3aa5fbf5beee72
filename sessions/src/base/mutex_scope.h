// A mutex held for a scope. Without exceptions, and initialised before all else.
#pragma once

#include <pthread.h>

namespace imbrex::sessions {

class mutex_scope {
 public:
  explicit mutex_scope(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~mutex_scope() { pthread_mutex_unlock(&mutex_); }
  mutex_scope(const mutex_scope&) = delete;
  mutex_scope& operator=(const mutex_scope&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace imbrex::sessions
