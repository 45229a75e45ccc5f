// Annotations for clang's -Wthread-safety: which lock guards which data. scripts/check-tidy verifies them;
// other compilers ignore them.
#pragma once

#include <mutex>

#if defined(__clang__)
#define OFFRAMP_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define OFFRAMP_THREAD_SAFETY(...)
#endif

/// A lock type, and a type that holds a lock during its lifetime.
#define CAPABILITY(name) OFFRAMP_THREAD_SAFETY(capability(name))
#define SCOPED_CAPABILITY OFFRAMP_THREAD_SAFETY(scoped_lockable)
/// Data and functions that require a lock.
#define GUARDED_BY(lock) OFFRAMP_THREAD_SAFETY(guarded_by(lock))
#define REQUIRES(lock) OFFRAMP_THREAD_SAFETY(requires_capability(lock))
#define ACQUIRE(...) OFFRAMP_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define RELEASE(...) OFFRAMP_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// Asserts that the lock is held, where clang cannot infer it.
#define ASSERT_HELD(lock) OFFRAMP_THREAD_SAFETY(assert_capability(lock))

namespace offramp {

/// std::mutex with annotations, which some standard libraries lack.
class CAPABILITY("mutex") Mutex {
 public:
  /// Use MutexLock instead, which cannot be forgotten.
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a mutex during its lifetime. std::condition_variable_any waits with the mutex itself.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock& operator=(MutexLock&&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace offramp
