"""One process that has loaded torch and transformers, which takes seconds, and runs the scripts of this folder in copies of itself.

loaded_transformers.py up SOCKET      comes back when it listens; it ends by itself when nobody has asked for a while
loaded_transformers.py down SOCKET

A script that calls run_there() first is run there, with its own arguments, folder, environment and streams, where
CARAVAN_LOADED_TRANSFORMERS names the socket and somebody listens; else it goes on by itself.
"""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
import traceback

VARIABLE = "CARAVAN_LOADED_TRANSFORMERS"
IDLE_SECONDS = 900
START_SECONDS = 240
MISSING = 77
STOP = b"stop\n"


def short(path):
    """The same file under a name that is short enough for a socket's address, while this process lives."""
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_PATH)
    return f"/proc/self/fd/{folder}/{os.path.basename(path)}"


def connected(path):
    """None: nobody listens."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(short(path))
    except OSError:
        connection.close()
        return None
    return connection


def run_there():
    path = os.environ.get(VARIABLE)
    connection = connected(path) if path else None
    if connection is None:
        return
    request = {"arguments": [os.path.abspath(sys.argv[0]), *sys.argv[1:]], "folder": os.getcwd(), "environment": dict(os.environ)}
    socket.send_fds(connection, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
    sys.exit(int(connection.recv(16)))


def work(request, streams):
    """The script's exit code."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.environ.pop(VARIABLE, None)
    sys.argv = request["arguments"]
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def serve_one(connection):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not message.endswith(b"\n"):
        more = connection.recv(1 << 16)
        if not more:
            return
        message += more
    if message == STOP:
        os.kill(os.getppid(), signal.SIGTERM)
        return
    worker = os.fork()
    if worker == 0:
        os._exit(work(json.loads(message), streams))
    _, status = os.waitpid(worker, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def serve(path):
    try:
        import numpy  # noqa: F401
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM  # noqa: F401
    except ImportError:
        sys.exit(MISSING)
    torch.set_num_threads(1)  # and no thread is there when copies are made
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(short(path))
        listener.listen(64)
        listener.settimeout(IDLE_SECONDS)
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                return
            with connection:
                if os.fork() == 0:
                    listener.close()
                    serve_one(connection)
                    os._exit(0)


def up(path):
    down(path)
    if os.path.lexists(path):
        os.unlink(path)
    # Whoever waits for the end of what this process prints does not wait for the server.
    with open(f"{path}.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([sys.executable, os.path.abspath(__file__), "serve", path], start_new_session=True,
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.monotonic() + START_SECONDS
    while (connection := connected(path)) is None:
        code = server.poll()
        if code is not None:
            return 0 if code == MISSING else f"what loads transformers ended with {code}: see {path}.log"
        if time.monotonic() > end:
            server.kill()
            return f"transformers was not loaded within {START_SECONDS} s"
        time.sleep(0.1)
    connection.close()
    return 0


def down(path):
    connection = connected(path)
    if connection is not None:
        connection.sendall(STOP)
        connection.recv(1)  # until it is closed
    return 0


if __name__ == "__main__":
    sys.exit({"up": up, "down": down, "serve": serve}[sys.argv[1]](sys.argv[2]))
