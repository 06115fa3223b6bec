// seeds FOLDER: writes the initial inputs of each parser to FOLDER/PARSER.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/parsers.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: seeds FOLDER\n";
    return 2;
  }
  for (const lockstep::fuzzing::Parser& one : lockstep::fuzzing::parsers()) {
    const std::filesystem::path folder = std::filesystem::path(arguments[1]) / one.name;
    std::filesystem::create_directories(folder);
    std::size_t number = 0;
    for (const std::string& seed : one.seeds())
      std::ofstream(folder / ("seed" + std::to_string(number++))) << seed;
  }
}
