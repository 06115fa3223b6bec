#!/usr/bin/env python3
"""git_server.py FOLDER LOG [CERTIFICATE KEY]: git's smart HTTP for tests, on a free port of 127.0.0.1, which it prints.

FOLDER has bare repositories. A path may begin with one of these:
  /auth/USER/PASSWORD/...  needs that login
  /echo/...                403, and a body that repeats the Authorization header
  /error/...               an error of git's protocol that repeats that header and what is in it
  /hang/...                never answers
  /moved/HOST:PORT/...     301 to the same path at HOST:PORT
  /status/CODE/...         that status
Each request is a line of LOG: the Host header, a blank and the path.
"""
import base64
import http.server
import os
import ssl
import subprocess
import sys
import threading

folder, log = sys.argv[1:3]
lock = threading.Lock()


class Request(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock, open(log, "a", encoding="utf-8") as file:
            file.write(f"{self.headers.get('Host')} {self.path}\n")
        parts = self.path.split("/")
        given = self.headers.get("Authorization", "")
        if parts[1] == "hang":
            threading.Event().wait(60)
        elif parts[1] == "echo":
            self.answer(403, f"you sent {given}\n".encode(), [("Content-Type", "text/plain")])
        elif parts[1] == "error":
            login = base64.b64decode(given.partition(" ")[2]).decode()
            text = f"ERR you sent {given}, {login}"
            body = b"001e# service=git-upload-pack\n0000" + f"{len(text) + 4:04x}{text}".encode()
            self.answer(200, body, [("Content-Type", "application/x-git-upload-pack-advertisement")])
        elif parts[1] == "status":
            self.answer(int(parts[2]))
        elif parts[1] == "moved":
            self.answer(301, headers=[("Location", "http://" + "/".join(parts[2:]))])
        elif parts[1] == "auth":
            right = "Basic " + base64.b64encode(f"{parts[2]}:{parts[3]}".encode()).decode()
            if given == right:
                self.backend("/" + "/".join(parts[4:]))
            else:
                self.answer(401, headers=[("WWW-Authenticate", 'Basic realm="test"')])
        else:
            self.backend(self.path)

    do_POST = do_GET

    def backend(self, path):
        name, _, query = path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": name,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        said = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True).stdout
        head, _, body = said.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = int(dict(headers).pop("Status", "200").split()[0])
        self.answer(status, body, [one for one in headers if one[0] != "Status"])


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Request)
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[3:5])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
