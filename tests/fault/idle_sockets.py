"""Holds sockets open that say nothing, and opens those anew that are closed: idle_sockets.py COUNT ADDRESS:PORT...

Prints one line when every port that listens has been reached, and ends when its standard input does.
"""

import errno
import select
import socket
import sys
import time


def connect(address, port):
    """A socket on its way; None when there are too many."""
    try:
        one = socket.socket()
    except OSError:
        return None
    one.setblocking(False)
    if one.connect_ex((address, port)) not in (0, errno.EINPROGRESS):
        one.close()
        return None
    return one


def is_open(one):
    try:
        return one.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def main(count, *ports):
    held = {}
    for port in ports:
        address, number = port.rsplit(":", 1)
        held[address, int(number)] = []
    told = False
    while not select.select([sys.stdin], [], [], 0)[0]:
        for target, sockets in held.items():
            for one in [one for one in sockets if not is_open(one)]:
                sockets.remove(one)
                one.close()
            missing = (connect(*target) for _ in range(int(count) - len(sockets)))
            sockets.extend(one for one in missing if one is not None)
        if not told:
            print("connected", flush=True)
            told = True
        time.sleep(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
