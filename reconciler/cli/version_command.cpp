#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/version.hpp"

namespace lockstep {

std::string version_text() {
  return build_commit().empty() ? LOCKSTEP_VERSION " (commit unknown: built from sources without git)"
                                : fmt::format("{} (commit {})", LOCKSTEP_VERSION, build_commit());
}

int run_version(const Console& console) {
  utsname kernel{};
  uname(&kernel);
  if (console.is_text()) {
    console.print(fmt::format("lockstep {}\nbuilt with g++ {} ({}), SQLite {}, fmt {}\nrunning on {} {}\n",
                              version_text(), __VERSION__, LOCKSTEP_BUILD_TYPE, sqlite3_libversion(),
                              FMT_VERSION, kernel.sysname, kernel.release));
  } else {
    nlohmann::json document{{"kind", "Version"},
                            {"version", LOCKSTEP_VERSION},
                            {"commit", nullptr},
                            {"compiler", std::string("g++ ") + __VERSION__},
                            {"build", LOCKSTEP_BUILD_TYPE},
                            {"sqlite", sqlite3_libversion()},
                            {"fmt", FMT_VERSION},
                            {"kernel", kernel.release}};
    if (!build_commit().empty()) document["commit"] = build_commit();
    console.print_document(document);
  }
  return kExitInSync;
}

}  // namespace lockstep
