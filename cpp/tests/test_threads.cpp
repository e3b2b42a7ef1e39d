// Threads that do not start, work that throws, and the cap.
#include <atomic>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "cerf/threads.h"
#include "expect.h"
#include "run_together.h"
#include "tests.h"

namespace {

using expectations::expect;

enum class Failure { none, no_thread, no_memory, other };

// A thread whose start fails from the second one on.
class FailingThread {
 public:
  static inline Failure failure = Failure::none;
  static inline int n_started = 0, n_joined = 0;

  template <class... Arguments>
  explicit FailingThread(Arguments&&... arguments) {
    if (n_started == 1 && failure == Failure::no_thread) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    if (n_started == 1 && failure == Failure::no_memory) throw std::bad_alloc();
    if (n_started == 1 && failure == Failure::other) throw std::logic_error("not started");
    thread_ = std::thread(std::forward<Arguments>(arguments)...);
    n_started++;
  }
  FailingThread(FailingThread&&) noexcept = default;
  void join() {
    thread_.join();
    n_joined++;
  }

 private:
  std::thread thread_;
};

// Whether all pieces of work were done and all threads joined; `thrown`: by run_together.
struct Outcome {
  int n_pieces = 0, n_started = 0, n_joined = 0;
  bool thrown = false;
};

Outcome run(Failure failure, int failing_piece) {
  constexpr int n_pieces = 100;
  FailingThread::failure = failure;
  FailingThread::n_started = FailingThread::n_joined = 0;
  std::atomic<int> next{0}, done{0};
  Outcome outcome;
  try {
    cerf::run_together<FailingThread>(4, [&](int) {
      for (int piece; (piece = next.fetch_add(1)) < n_pieces;) {
        if (piece == failing_piece) throw std::runtime_error("a piece failed");
        done++;
      }
    });
  } catch (const std::exception&) {
    outcome.thrown = true;
  }
  outcome.n_pieces = done;
  outcome.n_started = FailingThread::n_started;
  outcome.n_joined = FailingThread::n_joined;
  return outcome;
}

void starting_fails() {
  const Outcome all = run(Failure::none, -1);
  expect(all.n_pieces == 100 && all.n_started == 3 && all.n_joined == 3 && !all.thrown,
         "four threads share the work");
  for (const Failure failure : {Failure::no_thread, Failure::no_memory}) {
    const Outcome fewer = run(failure, -1);
    expect(fewer.n_pieces == 100 && fewer.n_started == 1 && fewer.n_joined == 1 && !fewer.thrown,
           "threads that did start do all of the work");
  }
  const Outcome other = run(Failure::other, -1);
  expect(other.n_started == 1 && other.n_joined == 1 && other.thrown,
         "an exception leaves after the threads are joined");
}

void work_throws() {
  const Outcome outcome = run(Failure::none, 50);
  expect(outcome.n_joined == 3 && outcome.thrown, "an exception of the work is rethrown");
  int n_calls = 0;
  cerf::run_together(1, [&](int) { n_calls++; });
  expect(n_calls == 1, "one thread is the caller itself");
}

void cap() {
  expect(cerf::usable_cores() >= 1, "no core to use");
  expect(cerf::get_num_threads() == cerf::usable_cores(), "the default is not the usable cores");
  cerf::set_default_num_threads(7);
  expect(cerf::get_num_threads() == 7, "another default");
  cerf::set_num_threads(3);
  expect(cerf::get_num_threads() == 3, "the cap is not taken");
  cerf::set_num_threads(-1);
  expect(cerf::get_num_threads() == 7, "no cap is not the default");
  cerf::set_default_num_threads(0);
  expect(cerf::get_num_threads() == cerf::usable_cores(), "no default is not the usable cores");
}

}  // namespace

void test_threads() {
  starting_fails();
  work_throws();
  cap();
}
