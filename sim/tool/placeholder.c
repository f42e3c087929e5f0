/* Stands in a simulated driver root where the driver package has a program of its own. */
#include <stdio.h>

int main(int argc, char** argv) {
  fprintf(stderr, "%s: this is a placeholder on a simulated GPU node, not NVIDIA's program\n",
          argc > 0 ? argv[0] : "placeholder");
  return 1;
}
