#include "reconciler/agent_cli/program.hpp"

int main(int argc, char** argv) { return lockstep::agent::run_program(argc, argv); }
