// The files that a process leaves when it is killed in replace_file().
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// Of their names, beside the file that is being replaced; 16 hexadecimal digits follow.
inline constexpr std::string_view kUnfinishedPrefix = ".lockstep-";

// Removes those in the folder that are this user's; a name of another form, another user's file and what is
// no regular file stay. A process that replaces a file there now fails, and may try again.
void remove_unfinished(const std::string& folder);

}  // namespace lockstep
