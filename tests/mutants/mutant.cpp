// Which seeded defect this process has: generate.py calls it wherever there is one.
#include <cstdlib>

int lockstep_mutant();

// The number in LOCKSTEP_MUTANT; without it none.
int lockstep_mutant() {
  static const int number = [] {
    const char* const text = std::getenv("LOCKSTEP_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return number;
}
