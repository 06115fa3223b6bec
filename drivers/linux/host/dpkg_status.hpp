// Installed packages, from dpkg's database.
//
// /var/lib/dpkg/status is a list of paragraphs of "Field: value" lines (dpkg(1), deb822(5)); a package is
// installed if the last word of its Status is "installed" (dpkg-query(1)). Promises: looks for the named
// packages only, in one pass. A truncated or malformed paragraph is skipped: dpkg itself writes the file
// whole. Refuses nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lockstep {

// Versions by name, for the named packages that are installed. With several architectures of one package, the
// first.
std::map<std::string, std::string> installed_versions(std::string_view status,
                                                      const std::set<std::string>& names);

}  // namespace lockstep
