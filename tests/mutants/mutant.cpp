// The seeded defect of this process. generate.py inserts a call wherever there is a defect.
#include <cstdlib>

int lockstep_mutant();

// The number in LOCKSTEP_MUTANT, or 0 if it is not set.
int lockstep_mutant() {
  static const int number = [] {
    const char* const text = std::getenv("LOCKSTEP_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return number;
}
