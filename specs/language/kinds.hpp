// The typed structs of all kinds: one plain struct per kind, every field a Said. They hold no derived values.
#pragma once

#include "specs/language/cluster.hpp"
#include "specs/language/device_set.hpp"
#include "specs/language/fabric.hpp"
#include "specs/language/host_profile.hpp"
#include "specs/language/records.hpp"
#include "specs/language/validation_suite.hpp"
