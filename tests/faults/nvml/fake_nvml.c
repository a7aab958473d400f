/* A library with the NVML functions that stackproof calls, for tests on machines without NVIDIA devices.
 *
 * It answers from the text file that FAKE_NVML names, read anew at every call, so that a test can change it meanwhile.
 * A line is `FUNCTION DEVICE ERROR PAYLOAD`: DEVICE is an index, an index with a MIG instance (`0/1`), or `*`; ERROR is
 * an NVML return code; PAYLOAD is numbers, or a text. The last line that fits counts. A function that no line speaks of
 * is not supported (3). Compiled with -DOLD_DRIVER it lacks the functions that came late.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int device, instance; } handle_t;
typedef handle_t *nvmlDevice_t;
typedef int nvmlReturn_t;

enum { NOT_FOUND = 6, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, MOST_DEVICES = 16, MOST_INSTANCES = 8 };

static handle_t handles[MOST_DEVICES][MOST_INSTANCES + 1];

/* The answer to FUNCTION for a device, its payload in `payload`. */
static nvmlReturn_t answer(const char *function, nvmlDevice_t handle, char *payload, size_t size) {
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[4096], name[128], device[32], wanted[32] = "*";
    nvmlReturn_t found = NOT_SUPPORTED;
    if (payload) payload[0] = 0;
    if (!file) return found;
    if (handle && handle->instance >= 0) snprintf(wanted, sizeof wanted, "%d/%d", handle->device, handle->instance);
    else if (handle) snprintf(wanted, sizeof wanted, "%d", handle->device);
    while (fgets(line, sizeof line, file)) {
        int error, used = 0;
        if (sscanf(line, "%127s %31s %d %n", name, device, &error, &used) < 3) continue;
        if (strcmp(name, function) || (strcmp(device, wanted) && strcmp(device, "*"))) continue;
        line[strcspn(line, "\n")] = 0;
        found = error;
        if (payload) snprintf(payload, size, "%s", line + used);
    }
    fclose(file);
    return found;
}

static nvmlReturn_t numbers(const char *function, nvmlDevice_t handle, unsigned long long *out, int count) {
    char payload[2048], *at = payload;
    nvmlReturn_t error = answer(function, handle, payload, sizeof payload);
    for (int i = 0; i < count && !error; i++) out[i] = strtoull(at, &at, 0);
    return error;
}

static nvmlReturn_t text(const char *function, nvmlDevice_t handle, char *out, unsigned int length) {
    char payload[2048];
    nvmlReturn_t error = answer(function, handle, payload, sizeof payload);
    if (!error) snprintf(out, length, "%s", payload);
    return error;
}

static nvmlReturn_t one(const char *function, nvmlDevice_t handle, unsigned int *out) {
    unsigned long long value;
    nvmlReturn_t error = numbers(function, handle, &value, 1);
    if (!error) *out = (unsigned int)value;
    return error;
}

static nvmlReturn_t two(const char *function, nvmlDevice_t handle, unsigned int *a, unsigned int *b) {
    unsigned long long values[2];
    nvmlReturn_t error = numbers(function, handle, values, 2);
    if (!error) { *a = (unsigned int)values[0]; *b = (unsigned int)values[1]; }
    return error;
}

/* One number of FUNCTION:WHICH. */
static nvmlReturn_t one_of(const char *function, nvmlDevice_t handle, unsigned int which, unsigned int *out) {
    char key[96];
    snprintf(key, sizeof key, "%s:%u", function, which);
    return one(key, handle, out);
}

#define TEXT_OF(NAME) nvmlReturn_t NAME(nvmlDevice_t d, char *out, unsigned int length) { return text(#NAME, d, out, length); }
#define UINT_OF(NAME) nvmlReturn_t NAME(nvmlDevice_t d, unsigned int *out) { return one(#NAME, d, out); }
#define WIDE_OF(NAME) nvmlReturn_t NAME(nvmlDevice_t d, unsigned long long *out) { return numbers(#NAME, d, out, 1); }
#define PAIR_OF(NAME) nvmlReturn_t NAME(nvmlDevice_t d, unsigned int *a, unsigned int *b) { return two(#NAME, d, a, b); }
#define KIND_OF(NAME) nvmlReturn_t NAME(nvmlDevice_t d, unsigned int kind, unsigned int *out) { return one_of(#NAME, d, kind, out); }

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { (void)flags; return answer("nvmlInit", NULL, NULL, 0); }
nvmlReturn_t nvmlInit_v2(void) { return answer("nvmlInit", NULL, NULL, 0); }
nvmlReturn_t nvmlShutdown(void) { return answer("nvmlShutdown", NULL, NULL, 0); }
nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned int length) { return text("nvmlSystemGetDriverVersion", NULL, out, length); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out) { return one("nvmlSystemGetCudaDriverVersion_v2", NULL, (unsigned int *)out); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *out) { return one("nvmlDeviceGetCount", NULL, out); }

static nvmlReturn_t open_handle(const char *function, int device, int instance, nvmlDevice_t *out) {
    handle_t *handle = &handles[device][instance + 1];
    *handle = (handle_t){device, instance};
    nvmlReturn_t error = answer(function, handle, NULL, 0);
    *out = handle;
    return error;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *out) { return open_handle("nvmlDeviceGetHandleByIndex", index, -1, out); }
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int index, nvmlDevice_t *out) {
    return open_handle("nvmlDeviceGetMigDeviceHandleByIndex", d->device, index, out);
}

TEXT_OF(nvmlDeviceGetName)
TEXT_OF(nvmlDeviceGetUUID)
TEXT_OF(nvmlDeviceGetVbiosVersion)
UINT_OF(nvmlDeviceGetPowerUsage)
UINT_OF(nvmlDeviceGetEnforcedPowerLimit)
UINT_OF(nvmlDeviceGetMaxPcieLinkGeneration)
UINT_OF(nvmlDeviceGetMaxPcieLinkWidth)
UINT_OF(nvmlDeviceGetPcieReplayCounter)
UINT_OF(nvmlDeviceGetMaxMigDeviceCount)
WIDE_OF(nvmlDeviceGetTotalEnergyConsumption)
WIDE_OF(nvmlDeviceGetCurrentClocksThrottleReasons)
PAIR_OF(nvmlDeviceGetMigMode)
PAIR_OF(nvmlDeviceGetEccMode)
PAIR_OF(nvmlDeviceGetCudaComputeCapability)
KIND_OF(nvmlDeviceGetClockInfo)
KIND_OF(nvmlDeviceGetMaxClockInfo)
KIND_OF(nvmlDeviceGetTemperature)
KIND_OF(nvmlDeviceGetPcieThroughput)

KIND_OF(nvmlDeviceGetNvLinkState)

typedef struct { unsigned int gpu, memory; } rates_t;
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, rates_t *out) {
    return two("nvmlDeviceGetUtilizationRates", d, &out->gpu, &out->memory);
}

typedef struct { unsigned long long total, free, used; } memory_t;
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, memory_t *out) {
    unsigned long long values[2] = {0, 0};
    nvmlReturn_t error = numbers("nvmlDeviceGetMemoryInfo", d, values, 2);
    *out = (memory_t){values[0], values[0] - values[1], values[1]};
    return error;
}

typedef struct { char legacy[16]; unsigned int domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, pci_t *out) {
    memset(out, 0, sizeof *out);
    return text("nvmlDeviceGetPciInfo", d, out->bus_id, sizeof out->bus_id);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned int link, pci_t *out) {
    char key[96];
    memset(out, 0, sizeof *out);
    snprintf(key, sizeof key, "nvmlDeviceGetNvLinkRemotePciInfo:%u", link);
    return text(key, d, out->bus_id, sizeof out->bus_id);
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, unsigned int *out) {
    return one_of("nvmlDeviceGetTopologyCommonAncestor", a, b->device, out);
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, unsigned int index, unsigned int *out) {
    return index == 2 ? one_of("nvmlDeviceGetP2PStatus", a, b->device, out) : NOT_SUPPORTED; /* 2: NVLink */
}

/* Payload: PID MEMORY, PID MEMORY, … */
typedef struct { unsigned int pid; unsigned long long memory; unsigned int gpu_instance, compute_instance; } process_t;
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int *count, process_t *out) {
    char payload[2048], *at = payload;
    nvmlReturn_t error = answer("nvmlDeviceGetComputeRunningProcesses", d, payload, sizeof payload);
    unsigned int found = 0, room = *count;
    if (error) return error;
    for (char *c = payload; *c; c++) found += *c == ',';
    found += payload[0] != 0;
    *count = found;
    if (found == 0) return 0;
    if (!out || room < found) return INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < found; i++) {
        memset(&out[i], 0, sizeof out[i]);
        out[i].pid = strtoul(at, &at, 0);
        out[i].memory = strtoull(at, &at, 0);
        if (*at == ',') at++;
    }
    return 0;
}

#ifndef OLD_DRIVER
WIDE_OF(nvmlDeviceGetCurrentClocksEventReasons)

typedef struct { unsigned int field, scope; long long timestamp, latency; unsigned int type; nvmlReturn_t error; uint64_t value; } field_t;
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, field_t *fields) {
    nvmlReturn_t error = answer("nvmlDeviceGetFieldValues", d, NULL, 0);
    for (int i = 0; i < count && !error; i++) {
        char key[96]; unsigned long long value = 0;
        snprintf(key, sizeof key, "nvmlDeviceGetFieldValues:%u", fields[i].field);
        fields[i].error = fields[i].scope == 0xFFFFFFFFu ? numbers(key, d, &value, 1) : NOT_SUPPORTED;
        fields[i].type = 3;
        fields[i].value = value;
    }
    return error;
}
#endif
