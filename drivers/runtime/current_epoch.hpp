// CurrentEpoch: under which epoch this process leads its cluster, shared by whoever takes leadership and the
// drivers that tell devices; and the devices that have answered that another leader has come since.
//
// Promises: thread-safe. Each take() is another leader, with an id that was never used before, and forgets
// what was known of others. A device that is set aside no longer counts: what one device says must not end
// the runs that do without it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

class CurrentEpoch {
 public:
  struct Leader {
    std::uint64_t epoch = 0;  // 0: this process does not lead
    std::string id{};
  };

  // An error: there are no random bytes.
  Result<Done> take(std::uint64_t epoch);
  void resign();
  Leader leader() const;

  // A device denies this leader, and has accepted one of that epoch: as high as this one's if the stores are
  // copies.
  void denied_by(const std::string& device, std::uint64_t accepted);
  // Whoever leads finds that it no longer does.
  void lose(const std::string& why);

  // The highest epoch that a device has accepted of another leader, up to `most`; 0: none did.
  std::uint64_t highest_of_others(std::uint64_t most) const;
  // Why this process does not lead that device any more; none: nothing is known.
  std::optional<std::string> why_over(const std::string& device) const;
  // The same of the cluster: lose(), or a device that is not set aside.
  std::optional<std::string> why_over() const;
  // The devices that deny this leader now, all but these.
  void set_aside_but(const std::set<std::string>& devices);

 private:
  struct Denial {
    std::uint64_t accepted = 0;
    bool is_aside = false;
  };
  std::string text_of(const std::string& device, const Denial& denial) const;

  mutable std::mutex mutex_;  // guards all below
  Leader leader_;
  std::map<std::string, Denial> denials_;  // by device
  std::optional<std::string> lost_;
};

}  // namespace lockstep
