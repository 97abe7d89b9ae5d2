/* A libcuda.so.1 without a GPU: it records calls, fails where it is told to, and hands launches
   to a callback. Device memory is host memory. Compiled without headers: the few functions of
   the C library that it needs are declared here. Numbers are those of cuda.h. */

typedef unsigned long size_t;
extern void *malloc(size_t);
extern void free(void *);
extern int snprintf(char *, size_t, const char *, ...);
extern int strcmp(const char *, const char *);
extern char *strncpy(char *, const char *, size_t);
extern char *strstr(const char *, const char *);
extern size_t strlen(const char *);
extern int getpid(void);
extern void *calloc(size_t, size_t);
extern int pthread_key_create(unsigned *, void (*)(void *));
extern void *pthread_getspecific(unsigned);
extern int pthread_setspecific(unsigned, const void *);
extern int pthread_mutex_lock(void *);
extern int pthread_mutex_unlock(void *);

typedef int CUresult;
enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_IMAGE = 200, INVALID_PTX = 218,
       NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719, CAPTURE_UNSUPPORTED = 900 };

typedef struct { char image[1 << 16]; int device; } Module;
typedef struct { char name[256]; int shared; } Function;
typedef void (*Launch)(const char *name, unsigned *sizes, unsigned shared, void *stream, void **params);
typedef struct { Function *function; unsigned sizes[6], shared; size_t values[8]; } Node;
typedef struct { Node nodes[32]; int count; } Graph;

static char log_text[1 << 20];
static size_t log_length;
static char failing[64];
static int failing_after, failing_with;
static int devices = 2, version = 13000, capturing;
static int attributes[256], function_attributes[16];
typedef struct { int current, stack[16], depth; } Contexts;
static unsigned contexts_key, has_key;
static long log_lock[8];       /* a pthread_mutex_t in its first state */
static Launch on_launch;
static Graph *recording;       /* what is captured now */
static void *recorded_stream;
static int parameters = 3;     /* of each kernel: the driver knows, the stub is told */
static int owner;              /* the process that has initialized the driver */

static void note(const char *text) {
  pthread_mutex_lock(log_lock);
  log_length += snprintf(log_text + log_length, sizeof(log_text) - log_length, "%s\n", text);
  pthread_mutex_unlock(log_lock);
}

/* Each thread has a stack of contexts of its own. */
static Contexts *contexts(void) {
  Contexts *own;
  pthread_mutex_lock(log_lock);
  if (!has_key) has_key = !pthread_key_create(&contexts_key, free);
  pthread_mutex_unlock(log_lock);
  own = pthread_getspecific(contexts_key);
  if (!own) {
    own = calloc(1, sizeof(Contexts));
    own->current = -1;
    pthread_setspecific(contexts_key, own);
  }
  return own;
}
#define current (contexts()->current)

/* What `function` returns now: stub_fail may have asked for an error. */
static CUresult result(const char *function) {
  if (owner && owner != getpid()) return NOT_INITIALIZED; /* CUDA does not outlive a fork */
  if (current < 0 && strcmp(function, "cuInit")) {
    note("unexpected: no context is current in the following call");
    return 201; /* CUDA_ERROR_INVALID_CONTEXT */
  }
  if (strcmp(function, failing) || failing_after-- > 0) return SUCCESS;
  failing[0] = 0;
  return failing_with;
}

/* ---- for the tests ---- */

const char *stub_take_log(void) { log_text[log_length] = 0; log_length = 0; return log_text; }
void stub_fail(const char *function, int after, int with) {
  strncpy(failing, function, sizeof(failing) - 1);
  failing_after = after;
  failing_with = with;
}
void stub_on_launch(Launch callback) { on_launch = callback; }
void stub_attribute(int number, int value) { attributes[number] = value; }
void stub_function_attribute(int number, int value) { function_attributes[number] = value; }
void stub_devices(int count) { devices = count; }
void stub_version(int number) { version = number; }
void stub_capturing(int yes) { capturing = yes; }
void stub_parameters(int count) { parameters = count; }

/* ---- the driver ---- */

CUresult cuInit(unsigned flags) {
  if (!owner) owner = getpid();
  return devices ? result("cuInit") : NO_DEVICE;
}
CUresult cuDriverGetVersion(int *to) { *to = version; return SUCCESS; }
CUresult cuDeviceGetCount(int *to) {
  *to = devices;
  return owner == getpid() ? SUCCESS : NOT_INITIALIZED;
}
CUresult cuDeviceGet(int *to, int ordinal) { *to = ordinal; return ordinal < devices ? SUCCESS : 101; }
CUresult cuDeviceGetName(char *to, int length, int device) {
  snprintf(to, length, "Stub %d", device);
  return SUCCESS;
}
CUresult cuDeviceGetAttribute(int *to, int number, int device) { *to = attributes[number]; return SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(void **to, int device) { *to = (void *)(size_t)(device + 1); return SUCCESS; }
CUresult cuCtxPushCurrent_v2(void *context) {
  Contexts *own = contexts();
  own->stack[own->depth++] = current;
  current = (int)(size_t)context - 1;
  return SUCCESS;
}
CUresult cuCtxPopCurrent_v2(void **to) {
  Contexts *own = contexts();
  if (to) *to = (void *)(size_t)(current + 1);
  current = own->stack[--own->depth];
  return SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **to) {
  switch (error) {
  case INVALID_VALUE: *to = "CUDA_ERROR_INVALID_VALUE"; break;
  case NOT_INITIALIZED: *to = "CUDA_ERROR_NOT_INITIALIZED"; break;
  case CAPTURE_UNSUPPORTED: *to = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; break;
  case NO_DEVICE: *to = "CUDA_ERROR_NO_DEVICE"; break;
  case INVALID_IMAGE: *to = "CUDA_ERROR_INVALID_IMAGE"; break;
  case INVALID_PTX: *to = "CUDA_ERROR_INVALID_PTX"; break;
  case NOT_FOUND: *to = "CUDA_ERROR_NOT_FOUND"; break;
  case ILLEGAL_ADDRESS: *to = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
  case LAUNCH_FAILED: *to = "CUDA_ERROR_LAUNCH_FAILED"; break;
  default: *to = 0; return INVALID_VALUE;
  }
  return SUCCESS;
}

static CUresult load(void **to, const void *image, const char *function) {
  char line[128];
  Module *module = malloc(sizeof(Module));
  CUresult status = result(function);
  if (recording) note("unexpected: loads in a capture");
  snprintf(line, sizeof(line), "%s device %d", function, current);
  note(line);
  if (status) { free(module); return status; }
  strncpy(module->image, image, sizeof(module->image) - 1);
  module->device = current;
  *to = module;
  return SUCCESS;
}
CUresult cuModuleLoadData(void **to, const void *image) { return load(to, image, "cuModuleLoadData"); }
CUresult cuModuleLoadDataEx(void **to, const void *image, unsigned count, int *options, void **values) {
  CUresult status = load(to, image, "cuModuleLoadDataEx");
  for (unsigned i = 0; i < count; i++)
    if (status && options[i] == 5) /* CU_JIT_ERROR_LOG_BUFFER */
      snprintf(values[i], 64, "ptxas application ptx input, line 3; fatal");
  return status;
}
CUresult cuModuleGetFunction(void **to, Module *module, const char *name) {
  char line[384];
  CUresult status = result("cuModuleGetFunction");
  Function *function;
  snprintf(line, sizeof(line), "cuModuleGetFunction %s", name);
  note(line);
  if (status) return status;
  if (module->image[0] == '/' && !strstr(module->image, name)) return NOT_FOUND; /* PTX is text */
  function = malloc(sizeof(Function));
  strncpy(function->name, name, sizeof(function->name) - 1);
  *to = function;
  return SUCCESS;
}
CUresult cuFuncGetAttribute(int *to, int number, Function *function) {
  *to = function_attributes[number];
  return result("cuFuncGetAttribute");
}
CUresult cuFuncSetAttribute(Function *function, int number, int value) {
  char line[384];
  snprintf(line, sizeof(line), "cuFuncSetAttribute %s %d %d", function->name, number, value);
  note(line);
  return result("cuFuncSetAttribute");
}
CUresult cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
#ifdef QUIET
  return SUCCESS;
#endif
  char line[512];
  unsigned sizes[6];
  CUresult status = result("cuLaunchKernel");
  snprintf(line, sizeof(line), "cuLaunchKernel %s grid %u %u %u block %u %u %u shared %u stream %#lx device %d",
           function->name, gx, gy, gz, bx, by, bz, shared, (size_t)stream, current);
  if (!status && recording && stream == recorded_stream) {
    Node *node = &recording->nodes[recording->count++];
    snprintf(line, sizeof(line), "captured %s device %d", function->name, current);
    note(line);
    node->function = function;
    node->sizes[0] = gx; node->sizes[1] = gy; node->sizes[2] = gz;
    node->sizes[3] = bx; node->sizes[4] = by; node->sizes[5] = bz;
    node->shared = shared;
    for (int i = 0; i < parameters; i++) node->values[i] = *(size_t *)params[i];
    return SUCCESS;
  }
  note(line);
  if (status) return status;
  sizes[0] = gx; sizes[1] = gy; sizes[2] = gz;
  sizes[3] = bx; sizes[4] = by; sizes[5] = bz;
  if (on_launch) on_launch(function->name, sizes, shared, stream, params);
  return SUCCESS;
}
CUresult cuStreamSynchronize(void *stream) {
  char line[64];
  snprintf(line, sizeof(line), "cuStreamSynchronize %#lx", (size_t)stream);
  note(line);
  if (recording && stream == recorded_stream) note("unexpected: waits in a capture");
  return result("cuStreamSynchronize");
}
CUresult cuCtxSynchronize(void) {
  note("cuCtxSynchronize");
  return result("cuCtxSynchronize");
}
CUresult cuStreamBeginCapture_v2(void *stream, int mode) {
  recording = malloc(sizeof(Graph));
  recording->count = 0;
  recorded_stream = stream;
  return SUCCESS;
}
CUresult cuStreamEndCapture(void *stream, Graph **to) {
  int before = current;
  CUresult status;
  current = 0; /* it needs none */
  status = result("cuStreamEndCapture");
  current = before;
  *to = recording;
  recording = 0;
  return status;
}
CUresult cuGraphLaunch(Graph *graph, void *stream) {
  char line[64];
  void *params[8];
  snprintf(line, sizeof(line), "cuGraphLaunch %d kernels stream %#lx", graph->count, (size_t)stream);
  note(line);
  for (int i = 0; i < graph->count; i++) {
    Node *node = &graph->nodes[i];
    for (int j = 0; j < 8; j++) params[j] = &node->values[j];
    if (on_launch) on_launch(node->function->name, node->sizes, node->shared, stream, params);
  }
  return SUCCESS;
}
CUresult cuStreamIsCapturing(void *stream, int *to) {
  *to = capturing || (recording && stream == recorded_stream);
  return result("cuStreamIsCapturing");
}

static int list(char *to, const char *name, const size_t *longs, const unsigned *words, unsigned count) {
  int length = snprintf(to, 32, " %s", name);
  for (unsigned i = 0; i < count; i++)
    length += snprintf(to + length, 32, " %lu", longs ? longs[i] : words[i]);
  return length;
}
/* The map has the address, and multiples of the innermost size. */
CUresult cuTensorMapEncodeTiled(size_t *to, int type, unsigned rank, void *address, const size_t *dims,
                                const size_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                                int swizzle, int promotion, int fill) {
  char line[1024];
  CUresult status = result("cuTensorMapEncodeTiled");
  int length = snprintf(line, 128, "cuTensorMapEncodeTiled type %d rank %u address %#lx", type, rank, (size_t)address);
  length += list(line + length, "dims", dims, 0, rank);
  length += list(line + length, "strides", strides, 0, rank - 1);
  length += list(line + length, "box", 0, box, rank);
  length += list(line + length, "steps", 0, steps, rank);
  snprintf(line + length, 128, " modes %d %d %d %d", interleave, swizzle, promotion, fill);
  note(line);
  if ((size_t)to % 64) note("unexpected: a tensor map that is not aligned");
  if (status) return status;
  to[0] = (size_t)address;
  for (int i = 1; i < 16; i++) to[i] = dims[0] * i;
  return SUCCESS;
}

/* What MLIR's runtime is linked against, but nothing here may call. */
#define UNUSED(name) CUresult name(void) { note("unexpected " #name); return LAUNCH_FAILED; }
UNUSED(cuEventCreate) UNUSED(cuEventDestroy_v2) UNUSED(cuEventRecord) UNUSED(cuEventSynchronize)
UNUSED(cuLaunchKernelEx) UNUSED(cuMemAllocManaged) UNUSED(cuMemAlloc_v2) UNUSED(cuMemFree_v2)
UNUSED(cuMemHostRegister_v2) UNUSED(cuMemHostUnregister) UNUSED(cuMemcpy) UNUSED(cuMemcpyAsync)
UNUSED(cuMemsetD16Async) UNUSED(cuMemsetD32Async) UNUSED(cuModuleUnload) UNUSED(cuStreamCreate)
UNUSED(cuStreamDestroy_v2) UNUSED(cuStreamWaitEvent)
