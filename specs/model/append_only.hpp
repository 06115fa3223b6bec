// An array that many threads read without a lock while one thread (holding the owner's lock) appends.
//
// Promises: an element never moves; reading index i is safe in any thread that obtained i after the append.
// Holds at most kChunks * kChunkSize elements; push_back past that aborts the program (a bug: see
// interned.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace lockstep {

template <class T>
class AppendOnly {
 public:
  constexpr AppendOnly() = default;
  AppendOnly(const AppendOnly&) = delete;
  AppendOnly& operator=(const AppendOnly&) = delete;
  ~AppendOnly() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  // Requires the owner's lock. Returns the index of the new element.
  std::uint32_t push_back(T value) {
    const std::size_t chunk = size_ / kChunkSize;
    if (chunk >= kChunks) std::abort();
    T* storage = chunks_[chunk].load(std::memory_order_relaxed);
    if (storage == nullptr) {
      storage = std::make_unique<T[]>(kChunkSize).release();
      chunks_[chunk].store(storage, std::memory_order_release);
    }
    storage[size_ % kChunkSize] = std::move(value);
    return static_cast<std::uint32_t>(size_++);
  }

  const T& operator[](std::uint32_t index) const {
    return chunks_[index / kChunkSize].load(std::memory_order_acquire)[index % kChunkSize];
  }

 private:
  static constexpr std::size_t kChunkSize = 1U << 14;
  static constexpr std::size_t kChunks = 1U << 14;
  std::array<std::atomic<T*>, kChunks> chunks_{};
  std::size_t size_ = 0;
};

}  // namespace lockstep
