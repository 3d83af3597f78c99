// A pod's program: writes the address of a name, as soon as there is one, to a file.
//   probe NAME FILE
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

static void print_address(FILE* file, const struct addrinfo* found) {
  char text[INET_ADDRSTRLEN];
  const struct sockaddr_in* address = (const struct sockaddr_in*)found->ai_addr;
  fputs(inet_ntop(AF_INET, &address->sin_addr, text, sizeof text), file);
}

int main(int count, char** arguments) {
  const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  if (count != 3) return 2;
  while (getaddrinfo(arguments[1], NULL, &wanted, &found) != 0) sleep(1);
  FILE* file = fopen(arguments[2], "w");
  if (file == NULL) {
    perror(arguments[2]);
    return 1;
  }
  print_address(file, found);
  return fclose(file) == 0 ? 0 : 1;
}
