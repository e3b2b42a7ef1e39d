// Runs one piece of work on several threads, and joins them whatever is thrown.
#pragma once

#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace cerf {

// Threads that are joined when this goes out of scope, also by an exception: a thread that is
// destroyed before it is joined would end the process.
template <class Thread>
class JoinedThreads {
 public:
  explicit JoinedThreads(size_t most) { threads_.reserve(most); }
  JoinedThreads(const JoinedThreads&) = delete;
  JoinedThreads& operator=(const JoinedThreads&) = delete;
  ~JoinedThreads() {
    for (Thread& thread : threads_) thread.join();
  }
  template <class... Arguments>
  void start(Arguments&&... arguments) {
    threads_.emplace_back(std::forward<Arguments>(arguments)...);
  }

 private:
  std::vector<Thread> threads_;
};

// Calls work(0) here and work(1) .. work(n_threads - 1) on new threads, and returns when all are
// done. `work` takes its pieces from a common store, so that fewer threads do the same: where the
// system has no more threads or memory for them, those that run go on alone. The first exception
// of `work` is rethrown after all are joined.
template <class Thread = std::thread, class Work>
void run_together(int n_threads, const Work& work) {
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto guarded = [&](int t) {
    try {
      work(t);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (thrown == nullptr) thrown = std::current_exception();
    }
  };
  {
    JoinedThreads<Thread> threads(static_cast<size_t>(n_threads - 1));
    try {
      for (int t = 1; t < n_threads; t++) threads.start(guarded, t);
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    guarded(0);
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace cerf
