/* A wall clock that jumps: it is ahead of the machine's by the seconds in CLOCK_FILE, eight bytes that all share.
 *
 * Loaded into each process before libc (LD_PRELOAD). Deadlines by the wall clock are handed to the kernel as its own
 * clock has them. The monotonic clock, and the times of files, stay.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none, *ahead = &none;

__attribute__((constructor)) static void look(void) {
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) ahead = found;
    close(file);
}

/* The function of libc; the versions of those that wait matter, an old one has conditions of another form. */
static void *real(const char *name, const char *version) {
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;
    return found ? found : dlsym(RTLD_NEXT, name);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*call)(clockid_t, struct timespec *);
    if (!call) call = real("clock_gettime", NULL);
    int failed = call(id, now);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (to) *to = found.tv_sec;
    return found.tv_sec;
}

int timespec_get(struct timespec *now, int kind) {
    return kind == TIME_UTC && !clock_gettime(CLOCK_REALTIME, now) ? kind : 0;
}

static struct timespec of_kernel(const struct timespec *until) {
    struct timespec found = *until;
    found.tv_sec -= *ahead;
    return found;
}

int pthread_cond_timedwait(pthread_cond_t *restrict it, pthread_mutex_t *restrict lock,
                           const struct timespec *restrict until) {
    static int (*call)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!call) call = real("pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec found = it->__data.__wrefs & 2 ? *until : of_kernel(until); /* 2: it waits by the monotonic clock */
    return call(it, lock, &found);
}

int cnd_timedwait(cnd_t *restrict it, mtx_t *restrict lock, const struct timespec *restrict until) {
    static int (*call)(cnd_t *, mtx_t *, const struct timespec *);
    if (!call) call = real("cnd_timedwait", NULL); /* which waits within libc: the client of Kafka has it from there */
    struct timespec found = of_kernel(until);
    return call(it, lock, &found);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict lock, const struct timespec *restrict until) {
    static int (*call)(pthread_mutex_t *, const struct timespec *);
    if (!call) call = real("pthread_mutex_timedlock", NULL);
    struct timespec found = of_kernel(until);
    return call(lock, &found);
}

int sem_timedwait(sem_t *restrict it, const struct timespec *restrict until) {
    static int (*call)(sem_t *, const struct timespec *);
    if (!call) call = real("sem_timedwait", NULL);
    struct timespec found = of_kernel(until);
    return call(it, &found);
}
