/* What the stub of NVML answers, for the tests that load it: they find `nvml_stub` in it and set it. */
#ifndef LOCKSTEP_TESTS_HOST_NVML_STUB_H
#define LOCKSTEP_TESTS_HOST_NVML_STUB_H

enum { NVML_STUB_GPUS = 8 };

struct nvml_stub_gpu {
  int persistence, ecc, ecc_pending; /* -1: not supported */
  int lost;                          /* NVML_ERROR_GPU_IS_LOST */
  unsigned long long clock_limits;
  unsigned rows_pending, rows_failed;
  unsigned processes; /* that compute on it */
  int set_code; /* of every set of this one; nvmlReturn_t */
};

struct nvml_stub {
  unsigned count;
  int init_code;      /* of nvmlInit_v2; nvmlReturn_t */
  int set_code;       /* of every set */
  int resets_at_once; /* an ECC mode that is set is in force at once */
  int ignores_sets;   /* acknowledges, and changes nothing */
  int hang_fd;        /* nvmlDeviceGetCount_v2 first reads a byte from it; -1: does not */
  int open_sessions;  /* nvmlInit_v2 less nvmlShutdown */
  struct nvml_stub_gpu gpus[NVML_STUB_GPUS];
};

#endif
