// A state directory for one test, and entries to write to a history in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "led_store.hpp"
#include "reconciler/engine/plan.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

class StateDirectory : public ::testing::Test {
 protected:
  StateDirectory() {
    // In memory where possible: a kill is no power loss, and syncs cost nothing.
    const char* const memory = "/dev/shm";
    const std::filesystem::path top =
        access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (top / "lockstep-store-XXXXXX").string();
    directory = mkdtemp(pattern.data());
  }
  ~StateDirectory() override { std::filesystem::remove_all(directory); }
  std::string file() const { return directory + "/journal.sqlite"; }
  std::string directory;
};

inline Path entry(std::string_view text) { return *Path::parse(text); }
inline Value number(std::int64_t value) { return Value::integer(value); }
inline Value yes() { return Value::boolean(true); }
inline Value no() { return Value::boolean(false); }

inline LedgerTicket ticket(const std::string& name) {
  return {name, 1, "gpu1", "linux", {{entry("interface[rail0]/mtu"), number(1500), number(9000), 0}}};
}

}  // namespace lockstep
