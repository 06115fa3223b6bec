// An example of a driver: an appliance whose whole configuration is one file of "key value" lines.
//
// A stand-in, not a product: it exists so that the guide "write a driver" is code that is built and tested.
// No device is behind the file: reading and replacing the file stand for a session to an appliance. Promises:
// an apply is atomic; lines that no row stands for keep their content and their place. Refuses: names and
// values that contain blanks or characters other than printable ASCII.
#pragma once

#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

// `folder` holds the file `config`.
Attached make_example_driver(const std::string& device, const std::string& folder);

}  // namespace lockstep
