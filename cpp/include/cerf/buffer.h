// 64-byte aligned arrays of plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace cerf {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t size)
      : size_(size),
        data_(static_cast<T*>(
            ::operator new(static_cast<size_t>(size) * sizeof(T), std::align_val_t(64)))) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](int64_t i) { return data_.get()[i]; }
  const T& operator[](int64_t i) const { return data_.get()[i]; }
  int64_t size() const { return size_; }
  int64_t n_bytes() const { return size_ * static_cast<int64_t>(sizeof(T)); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  int64_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

}  // namespace cerf
