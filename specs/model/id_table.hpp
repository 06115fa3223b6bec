// IdTable: maps interned things to ids: many threads look up at once, each new thing gets one id.
//
// Promises: equal things (same hash, and `same` returns true) get equal ids. Split by hash into shards with
// one lock each, open addressing inside, so that threads seldom contend and a lookup touches one or two cache
// lines. Holds only ids; the things themselves are stored elsewhere. Id 0 is never stored.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lockstep {

class IdTable {
 public:
  // `same(id)`: whether that is the requested thing. `make()`: returns the id (not 0) of a new thing.
  template <class Same, class Make>
  std::uint32_t find_or_add(std::uint64_t hash, const Same& same, const Make& make) {
    Shard& shard = shards_[hash % kShards];
    const auto mark = static_cast<std::uint32_t>(hash >> 32);
    const std::scoped_lock lock(shard.mutex);
    if (shard.count * 2 >= shard.slots.size()) shard.grow();
    const std::size_t mask = shard.slots.size() - 1;
    for (std::size_t at = mark & mask;; at = (at + 1) & mask) {
      Slot& slot = shard.slots[at];
      if (slot.id == 0) {
        slot = {make(), mark};
        ++shard.count;
        return slot.id;
      }
      if (slot.mark == mark && same(slot.id)) return slot.id;
    }
  }

 private:
  struct Slot {
    std::uint32_t id = 0;
    std::uint32_t mark = 0;  // the upper half of the hash
  };
  struct alignas(64) Shard {  // one cache line each, so that locks don't share one
    std::mutex mutex;
    std::size_t count = 0;
    std::vector<Slot> slots;

    void grow() {
      std::vector<Slot> larger(slots.empty() ? kFirstSlots : slots.size() * 2);
      const std::size_t mask = larger.size() - 1;
      for (const Slot& slot : slots) {
        if (slot.id == 0) continue;
        std::size_t at = slot.mark & mask;
        while (larger[at].id != 0) at = (at + 1) & mask;
        larger[at] = slot;
      }
      slots = std::move(larger);
    }
  };
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kFirstSlots = 64;
  std::array<Shard, kShards> shards_;
};

}  // namespace lockstep
