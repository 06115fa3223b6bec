// A subject: one driver with a new device to change. Each driver that the contract suite tests has one; a new
// driver adds its own to subject_names() and make_subject().
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/runtime/current_epoch.hpp"

namespace lockstep::contract {

class Subject {
 public:
  virtual ~Subject() = default;
  Driver& driver() { return *attached.driver; }
  // The foreign state beside our entries, in the native form of the device: must stay unchanged.
  virtual std::string foreign() = 0;
  // Manually changes something that the driver reads, each time to another value.
  virtual void touch() = 0;
  // While on, a write is done and its reply is lost. False: this subject cannot lose replies.
  virtual bool lose_replies(bool) { return false; }
  // While on, the device does not answer. False: this subject cannot hang.
  virtual bool hang(bool) { return false; }
  // Advances the clock of the dead-man timer of the device.
  virtual void pass(std::chrono::milliseconds) {}
  // Breaks effects for which the driver has a remedy, and returns them.
  virtual std::vector<Change> break_effects() { return {}; }
  // Waits until nothing of a call that has ended here goes on at the device.
  virtual void come_to_rest() {}

  Attached attached;
  bool is_real = true;                    // writes to something other than memory or a test file
  std::set<std::string> never_unset;      // patterns whose removal the device does not support: an error
  std::set<std::string> follow;           // patterns of entries that follow from others, and change with them
  std::set<std::string> keeps_a_default;  // patterns whose removal leaves the device's own value
  // Its driver passes on another subject's rows: only one of each kind is walked.
  bool one_row_of_a_kind = false;
  // It accepts only applies that are armed, and made by a leader: that of this epoch observes and settles.
  bool arms_all = false;
  std::shared_ptr<CurrentEpoch> epoch;
};

std::vector<std::string> subject_names();
// Why this subject cannot be created here ("needs root"); empty if it can.
std::string impossible(const std::string& name);
// A device without entries of ours.
std::unique_ptr<Subject> make_subject(const std::string& name);
// Releases devices that are shared between subjects (the FRR daemons).
void end_subjects();

}  // namespace lockstep::contract
