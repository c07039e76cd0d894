/*
 * Delays every fsync and fdatasync, to measure the effect of a slow disk on the service:
 *
 *   gcc -O2 -shared -fPIC -o slow-fsync.so slow-fsync.c -ldl
 *   LD_PRELOAD=./slow-fsync.so node ...
 *
 * SLOW_FSYNC_US is the delay in microseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void delay(void) {
  const char *us = getenv("SLOW_FSYNC_US");
  usleep(us == NULL ? 10000 : (useconds_t)atoi(us));
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  delay();
  return real(fd);
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  delay();
  return real(fd);
}
