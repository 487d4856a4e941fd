/* Preloaded into an operator: its wall clock is ahead by the seconds in the file that CHAOS_CLOCK names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile const long long *seconds_ahead;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_offset(void) {
  real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("CHAOS_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return;
  void *mapped = mmap(NULL, sizeof *seconds_ahead, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED)
    seconds_ahead = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = real_clock_gettime(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME && seconds_ahead)
    time->tv_sec += *seconds_ahead;
  return result;
}
