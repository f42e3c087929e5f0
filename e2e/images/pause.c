/* Process 1 of a pod: keeps its namespaces, reaps what the pod's containers leave behind, and ends
   when asked to. */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  /* Blocked, they wait for sigwait(); and process 1 gets no signal that it neither blocks nor
   * handles. */
  sigprocmask(SIG_BLOCK, &wanted, NULL);
  for (;;) {
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    int signal = 0;
    if (sigwait(&wanted, &signal) != 0) return 1;
    if (signal != SIGCHLD) return 0;
  }
}
