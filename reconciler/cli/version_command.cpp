#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"

namespace lockstep {

int run_version(const Console& console) {
  utsname kernel{};
  uname(&kernel);
  if (console.is_text()) {
    console.print(fmt::format("lockstep {}\nbuilt with g++ {} ({}), SQLite {}, fmt {}\nrunning on {} {}\n",
                              LOCKSTEP_VERSION, __VERSION__, LOCKSTEP_BUILD_TYPE, sqlite3_libversion(),
                              FMT_VERSION, kernel.sysname, kernel.release));
  } else {
    console.print_document(nlohmann::json{{"version", LOCKSTEP_VERSION},
                                          {"compiler", std::string("g++ ") + __VERSION__},
                                          {"build", LOCKSTEP_BUILD_TYPE},
                                          {"sqlite", sqlite3_libversion()},
                                          {"fmt", FMT_VERSION},
                                          {"kernel", kernel.release}});
  }
  return kExitInSync;
}

}  // namespace lockstep
