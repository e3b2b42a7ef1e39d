// Memory for large outputs: aligned, in huge pages, and kept for the next output.
#pragma once

#include <cstdint>

namespace cerf {

// Bytes of any content whose address is a multiple of 2 MiB. Throws std::bad_alloc.
//
// What is no longer used is kept for the next one, up to a limit; the system may take the
// pages when memory runs short.
class OutputMemory {
 public:
  explicit OutputMemory(int64_t n_bytes);
  ~OutputMemory();
  OutputMemory(const OutputMemory&) = delete;
  OutputMemory& operator=(const OutputMemory&) = delete;

  void* data() const { return data_; }

 private:
  char* data_;
  int64_t n_bytes_;
};

// Most bytes that are kept while not in use, and how many are at present.
void set_kept_output_limit(int64_t n_bytes);
int64_t kept_output_limit();
int64_t kept_output_bytes();

}  // namespace cerf
