// A subject: one driver with a device to change, made fresh. Each driver that the contract suite holds to the
// seam's promises has one; a new driver adds its own to subject_names() and make_subject().
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep::contract {

class Subject {
 public:
  virtual ~Subject() = default;
  Driver& driver() { return *attached.driver; }
  // What another hand put there beside our entries, in the device's own words: must stay as it is.
  virtual std::string foreign() = 0;
  // Another hand changes something that the driver reads; each time to another value.
  virtual void touch() = 0;
  // While it is on, a write is done and its reply is lost. False: no reply can be lost here.
  virtual bool lose_replies(bool) { return false; }
  // While it is on, the device does not answer. False: it always does.
  virtual bool hang(bool) { return false; }
  // On the clock by which a device with a dead-man undoes.
  virtual void pass(std::chrono::milliseconds) {}
  // Effects that are broken from now on, and that the driver's remedy is for.
  virtual std::vector<Change> break_effects() { return {}; }

  Attached attached;
  bool is_real = true;                    // carries rows to something other than memory or a test file
  std::set<std::string> never_unset;      // patterns whose removal the device can't express: an error
  std::set<std::string> keeps_a_default;  // patterns whose removal leaves the device's own value
};

std::vector<std::string> subject_names();
// Why this subject can't be made here ("needs root"); empty: it can.
std::string impossible(const std::string& name);
// A device with nothing of ours on it.
std::unique_ptr<Subject> make_subject(const std::string& name);
// Lets go of devices shared between subjects (FRR's daemons).
void end_subjects();

}  // namespace lockstep::contract
