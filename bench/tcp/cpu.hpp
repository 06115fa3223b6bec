// How busy this process and this machine are, to distinguish a slow network from a slow CPU.
//
// Promises: cheap (one pread, one getrusage); values that can't be read are 0. Other processes are not
// examined.
#pragma once

#include <cstdint>

namespace lockstep::bench {

std::uint64_t now_ns();               // CLOCK_MONOTONIC: one clock for all processes of a machine
int poll_ms(std::uint64_t until_ns);  // timeout for poll(2) until then; a minute at most

// CPU time of this process since its start, in ns: on a CPU (getrusage, in ticks if schedstat is not
// available), and runnable but waiting for one (/proc/self/schedstat, second field; proc(5)).
struct ProcessCpu {
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
};
ProcessCpu process_cpu();

// All CPUs of the machine, in ticks (/proc/stat, first line; proc(5)); idle includes iowait.
struct MachineCpu {
  std::uint64_t idle = 0;
  std::uint64_t all = 0;
};
MachineCpu machine_cpu();

// An endpoint that waits for the network sleeps. One that was running or runnable for 90 % of the window had
// no slack: it was limited by its CPU. Measured on this lab (2 vCPU, veth, 1 s windows): the busier end of an
// unshaped stream on a quiet machine 96-99 % (3 runs), of one shaped to 1 Gb/s 8-28 % even with a load of 15
// from other work (5 runs).
constexpr double busy_endpoint = 0.90;
// Forwarding inside one machine runs in soft interrupts that no endpoint is charged for; with less than 5 %
// idle on all its CPUs there was no room for it.
constexpr double idle_machine = 0.05;

double busy_share(const ProcessCpu& before, const ProcessCpu& after, std::uint64_t window_ns);
// The share in which it was on a CPU: its own cost, whoever else was waiting.
double ran_share(const ProcessCpu& before, const ProcessCpu& after, std::uint64_t window_ns);
// For a process that polls and is never idle: the share in which it was kept from running.
double waited_share(const ProcessCpu& before, const ProcessCpu& after, std::uint64_t window_ns);
double idle_share(const MachineCpu& before, const MachineCpu& after);  // 1 if no tick passed

}  // namespace lockstep::bench
