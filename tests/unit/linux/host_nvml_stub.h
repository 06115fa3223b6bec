/* What the NVML stub answers: tests that load the stub find `nvml_stub` in it and set it. */
#ifndef LOCKSTEP_TESTS_HOST_NVML_STUB_H
#define LOCKSTEP_TESTS_HOST_NVML_STUB_H

enum { NVML_STUB_GPUS = 8 };

struct nvml_stub_gpu {
  int persistence, ecc, ecc_pending; /* -1: not supported */
  int lost;                          /* NVML_ERROR_GPU_IS_LOST */
  unsigned long long clock_limits;
  unsigned rows_pending, rows_failed;
  unsigned processes; /* number of compute processes */
  int set_code; /* result of every set on this GPU; nvmlReturn_t */
};

struct nvml_stub {
  unsigned count;
  int init_code;      /* result of nvmlInit_v2; nvmlReturn_t */
  int set_code;       /* result of every set */
  int resets_at_once; /* a new ECC mode takes effect at once */
  int ignores_sets;   /* acknowledges sets without changing anything */
  int hang_fd;        /* nvmlDeviceGetCount_v2 first reads a byte from it, unless -1 */
  int open_sessions;  /* calls of nvmlInit_v2 minus those of nvmlShutdown */
  struct nvml_stub_gpu gpus[NVML_STUB_GPUS];
};

#endif
