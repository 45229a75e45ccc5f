// Which lock guards what, for clang's -Wthread-safety. Other compilers see nothing of it. scripts/check-tidy
// checks it.
#pragma once

#include <mutex>

#if defined(__clang__)
#define OFFRAMP_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define OFFRAMP_THREAD_SAFETY(...)
#endif

/// A type that can be held, and one that holds it as long as an object lives.
#define CAPABILITY(name) OFFRAMP_THREAD_SAFETY(capability(name))
#define SCOPED_CAPABILITY OFFRAMP_THREAD_SAFETY(scoped_lockable)
/// Data that is used only while the lock is held, and functions that are called only then.
#define GUARDED_BY(lock) OFFRAMP_THREAD_SAFETY(guarded_by(lock))
#define REQUIRES(lock) OFFRAMP_THREAD_SAFETY(requires_capability(lock))
#define ACQUIRE(...) OFFRAMP_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define RELEASE(...) OFFRAMP_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// Says that the lock is held, where clang cannot see it.
#define ASSERT_HELD(lock) OFFRAMP_THREAD_SAFETY(assert_capability(lock))

namespace offramp {

/// std::mutex, which is not annotated everywhere.
class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a mutex to its end. std::condition_variable_any waits with the mutex itself.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace offramp
