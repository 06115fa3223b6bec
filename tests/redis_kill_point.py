#!/usr/bin/env python3
"""redis_kill_point.py LISTEN TARGET FOLDER: passes on what clients say to the Redis at TARGET, both unix sockets. While FOLDER/at
holds a number N, the Nth EXEC from then on is not passed on: FOLDER/reached appears, everything waits until `at` is gone, and
the connection is closed. So a test can end a client between two transactions that it chose."""
import os
import socket
import sys
import threading
import time

listen, target, folder = sys.argv[1:4]
at, reached = folder + "/at", folder + "/reached"
EXEC = b"$4\r\nEXEC\r\n"
lock, seen = threading.Lock(), 0


def is_the_one(data):
    """Whether the kill point is in these commands."""
    global seen
    with lock:
        try:
            with open(at) as file:
                number = int(file.read())
        except (FileNotFoundError, ValueError):
            seen = 0
            return False
        seen += data.count(EXEC)
        return seen >= number


def pass_on(source, sink, is_client):
    end = b""  # of what came before, in which a command may have begun
    try:
        while data := source.recv(1 << 20):
            whole, end = end + data, data[-len(EXEC) + 1:]
            if is_client and is_the_one(whole):
                open(reached, "w").close()
                while os.path.exists(at):
                    time.sleep(0.02)
                break
            sink.sendall(data)
    except OSError:
        pass
    for one in (source, sink):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


server = socket.socket(socket.AF_UNIX)
server.bind(listen)
server.listen()
while True:
    client, _ = server.accept()
    redis = socket.socket(socket.AF_UNIX)
    redis.connect(target)
    for pair in ((client, redis, True), (redis, client, False)):
        threading.Thread(target=pass_on, args=pair, daemon=True).start()
