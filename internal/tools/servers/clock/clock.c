/* Preloaded into a server, it adds what a file says, in nanoseconds, to the time of
 * day. The monotonic clocks are left alone, as they are when a machine's time of day
 * is set. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile int64_t *moved;

__attribute__((constructor)) static void find(void) {
	const char *name = getenv("SERVER_CLOCK");
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	void *at = mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, file, 0);
	close(file);
	if (at != MAP_FAILED)
		moved = at;
}

int clock_gettime(clockid_t id, struct timespec *to) {
	if (syscall(SYS_clock_gettime, id, to) != 0)
		return -1;
	if (moved && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		int64_t now = to->tv_sec * SECOND + to->tv_nsec + *moved;
		to->tv_sec = now / SECOND;
		to->tv_nsec = now % SECOND;
	}
	return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
	struct timespec now;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	to->tv_sec = now.tv_sec;
	to->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *to) {
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	if (to)
		*to = now.tv_sec;
	return now.tv_sec;
}
