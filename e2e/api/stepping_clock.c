/* Preloaded into the program by a test: the wall clock steps on demand, the monotonic clock does not.
 *
 * STEPPING_CLOCK names a file of eight bytes, a signed number of seconds that is added to CLOCK_REALTIME from the moment
 * on at which it is written. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t* step_s;

__attribute__((constructor)) static void open_control(void) {
  const char* path = getenv("STEPPING_CLOCK");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(NULL, sizeof *step_s, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) step_s = page;
  close(fd);
}

int clock_gettime(clockid_t id, struct timespec* at) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(id, at);
  if (result == 0 && id == CLOCK_REALTIME && step_s != NULL) at->tv_sec += *step_s;
  return result;
}
