"""Holds sockets open that say nothing, and opens those anew that are closed: idle_sockets.py COUNT ADDRESS:PORT...

Prints one line when COUNT connections have come about at every port, and ends when its standard input does: then it
says how many came about at each. Ends with an error when a port is not reached.
"""

import resource
import select
import socket
import sys
import time

PATIENCE_SECONDS = 60
PAUSE_SECONDS = 0.2


class Target:
    """One port, and the sockets on their way to it and connected."""

    def __init__(self, text):
        address, port = text.rsplit(":", 1)
        self.text, self.address = text, (address, int(port))
        self.connecting, self.connected = [], []
        self.made = 0

    def hold(self, count):
        self.connected = [one for one in self.connected if is_open(one)]
        still = []
        for one in self.connecting:
            state = progress_of(one)
            if state == "connected":
                self.made += 1
                self.connected.append(one)
            elif state == "connecting":
                still.append(one)
        missing = count - len(self.connected) - len(still)
        self.connecting = still + [begin(self.address) for _ in range(missing)]


def begin(address):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(address)
    return one


def progress_of(one):
    poll = select.poll()
    poll.register(one, select.POLLOUT)
    if not poll.poll(0):
        return "connecting"
    if one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
        return "connected"
    one.close()
    return "failed"


def is_open(one):
    try:
        while one.recv(4096):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    one.close()
    return False


def summary(targets):
    return ", ".join(f"{target.text} {target.made} made, {len(target.connected)} held" for target in targets)


def main(count, *ports):
    count = int(count)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    targets = [Target(port) for port in ports]
    end = time.monotonic() + PATIENCE_SECONDS
    told = False
    while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
        for target in targets:
            target.hold(count)
        if told:
            continue
        told = all(target.made >= count for target in targets)
        if told:
            print("connected", flush=True)
        elif time.monotonic() > end:
            sys.exit(f"not reached: {summary(targets)}")
    print(summary(targets))


if __name__ == "__main__":
    main(*sys.argv[1:])
