/* Preloaded into the program by a test: writes and syncs of the ledger's files fail on demand.
 *
 * FAILING_DISK names a file of two words, such as "sync 3": the next three calls of that kind on a file whose name
 * begins with "ledger.db" fail with EIO. The kinds are "sync" and "write". Each failure counts the number down, so the
 * test can see that it happened. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_ledger(int fd) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = '\0';
  const char* name = strrchr(path, '/');
  return name != NULL && strncmp(name + 1, "ledger.db", 9) == 0 && strstr(name, "-shm") == NULL;
}

/* Whether this call is one of those that fail; takes one off their number. */
static int fails(const char* kind, int fd) {
  const char* control = getenv("FAILING_DISK");
  if (control == NULL || access(control, F_OK) != 0 || !is_ledger(fd)) return 0;
  int failing = 0;
  pthread_mutex_lock(&lock);
  FILE* file = fopen(control, "r+");
  if (file != NULL) {
    char wanted[16] = "";
    long count = 0;
    if (fscanf(file, "%15s %ld", wanted, &count) == 2 && strcmp(wanted, kind) == 0 && count > 0) {
      failing = 1;
      rewind(file);
      fprintf(file, "%s %-12ld", kind, count - 1);
    }
    fclose(file);
  }
  pthread_mutex_unlock(&lock);
  return failing;
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  if (fails("sync", fd)) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  if (fails("sync", fd)) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  static ssize_t (*real)(int, const void*, size_t, off64_t);
  if (real == NULL) real = (ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  if (fails("write", fd)) {
    errno = EIO;
    return -1;
  }
  return real(fd, data, size, at);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
