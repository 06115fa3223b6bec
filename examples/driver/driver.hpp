// An example of a driver: an appliance whose whole configuration is one file of "key value" lines.
//
// A stand-in, not a product: it exists so that "write a driver" is code that is built and tested. No device
// is behind the file; what would be a session to an appliance is here a read, and a write that replaces the
// file. Promises: an apply is done whole or not at all; lines that no row stands for are kept as they are, in
// their place. Refuses: names and values that are not one word.
#pragma once

#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

// `folder` holds the file `config`.
Attached make_example_driver(const std::string& device, const std::string& folder);

}  // namespace lockstep
