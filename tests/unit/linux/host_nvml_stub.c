/* A stub of NVIDIA's management library (NVML) for tests, without a GPU or driver. It has the names and
 * layouts of the NVML API Reference and answers from `nvml_stub`. The PCI addresses are those of the GPUs of
 * the recorded host (host_tree.hpp). Built twice: WITHOUT_OPTIONAL leaves out what old drivers lack. */
#include "host_nvml_stub.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  SUCCESS = 0,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NO_PERMISSION = 4,
  INSUFFICIENT_SIZE = 7,
  GPU_IS_LOST = 15,
  MISMATCH = 18
};

struct nvml_stub nvml_stub = {.hang_fd = -1};

typedef struct {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
} nvmlPciInfo_t;
typedef struct nvml_stub_gpu* nvmlDevice_t;

int nvmlInit_v2(void) {
  if (nvml_stub.init_code == SUCCESS) ++nvml_stub.open_sessions;
  return nvml_stub.init_code;
}

int nvmlShutdown(void) {
  --nvml_stub.open_sessions;
  return SUCCESS;
}

const char* nvmlErrorString(int code) {
  switch (code) {
    case NOT_SUPPORTED: return "Not Supported";
    case NO_PERMISSION: return "Insufficient Permissions";
    case GPU_IS_LOST: return "GPU is lost";
    case MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  snprintf(version, length, "550.54.15");
  return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  char byte;
  if (nvml_stub.hang_fd >= 0 && read(nvml_stub.hang_fd, &byte, 1) < 0) return INVALID_ARGUMENT;
  *count = nvml_stub.count;
  return SUCCESS;
}

#ifndef WITHOUT_REQUIRED
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index >= NVML_STUB_GPUS) return INVALID_ARGUMENT;
  if (nvml_stub.gpus[index].lost) return GPU_IS_LOST;
  *device = &nvml_stub.gpus[index];
  return SUCCESS;
}
#endif

int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  memset(info, 0, sizeof *info);
  info->bus = (unsigned)(0x10 * (device - nvml_stub.gpus + 1) + 4);
  snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", info->bus);
  return SUCCESS;
}

#ifndef WITHOUT_OPTIONAL
static int mode(int value, int* out) {
  if (value < 0) return NOT_SUPPORTED;
  *out = value;
  return SUCCESS;
}

static int set(nvmlDevice_t device, int* value, int wanted) {
  if (device->set_code != SUCCESS) return device->set_code;
  if (nvml_stub.set_code != SUCCESS) return nvml_stub.set_code;
  if (*value < 0) return NOT_SUPPORTED;
  if (!nvml_stub.ignores_sets) *value = wanted;
  return SUCCESS;
}

int nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  (void)device;
  snprintf(name, length, "NVIDIA H100 80GB HBM3");
  return SUCCESS;
}

int nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned length) {
  (void)device;
  snprintf(version, length, "96.00.74.00.01");
  return SUCCESS;
}

int nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int* out) { return mode(device->persistence, out); }
int nvmlDeviceSetPersistenceMode(nvmlDevice_t device, int on) {
  return set(device, &device->persistence, on);
}

int nvmlDeviceGetEccMode(nvmlDevice_t device, int* now, int* pending) {
  const int code = mode(device->ecc, now);
  return code == SUCCESS ? mode(device->ecc_pending, pending) : code;
}
int nvmlDeviceSetEccMode(nvmlDevice_t device, int on) {
  const int code = set(device, &device->ecc_pending, on);
  if (nvml_stub.resets_at_once) device->ecc = device->ecc_pending;
  return code;
}

int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  *reasons = device->clock_limits;
  return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, void* infos) {
  if (*count != 0 || infos != NULL) return INVALID_ARGUMENT; /* the stub returns no table */
  *count = device->processes;
  return device->processes == 0 ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = 0;
  *pending = device->rows_pending;
  *failed = device->rows_failed;
  return SUCCESS;
}
#endif
