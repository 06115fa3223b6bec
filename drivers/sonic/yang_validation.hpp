// Whether a translated configuration holds what the YANG models say of it.
#pragma once

#include "drivers/sonic/yang_tree.hpp"

namespace lockstep::sonic {

// Adds the models' defaults to the tree. What may follow from values that could not be translated is not
// said: broken rules of their rows, and anything where a whole row was left out.
void validate(YangData& data);

}  // namespace lockstep::sonic
