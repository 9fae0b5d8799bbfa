/* The least that N processes cost: posix_spawn /bin/true and wait for it, AT_ONCE of them together.
 *
 *     spawn N AT_ONCE
 *
 * Prints the seconds it took. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fputs("usage: spawn N AT_ONCE\n", stderr);
        return 2;
    }
    long wanted = atol(arguments[1]);
    long at_once = atol(arguments[2]);
    char *command[] = {"/bin/true", NULL};
    long running = 0;
    double start = now();
    for (long started = 0; started < wanted; started++) {
        if (running == at_once) {
            wait(NULL);
            running--;
        }
        pid_t child;
        if (posix_spawn(&child, command[0], NULL, NULL, command, environ) != 0) {
            perror("posix_spawn");
            return 1;
        }
        running++;
    }
    while (running-- > 0) {
        wait(NULL);
    }
    printf("%.6f\n", now() - start);
    return 0;
}
