"""served.py SOCKET: whether the lists of a running service, and each of their objects by its own path, are as its own
/openapi.json describes them. Prints the lists that have no objects."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
import check_openapi


def served(path):
    command = ["curl", "-sS", "--fail", "--unix-socket", sys.argv[1], f"http://localhost{path}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60).stdout)


def main():
    document = served("/openapi.json")
    check_openapi.check_document(document)
    empty = []
    for path, methods in document["paths"].items():
        if not path.startswith("/api/") or "{" in path:
            continue
        reference = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        listed = served(path)
        check_openapi.check_described(document, path, reference.rpartition("/")[2], listed)
        for one in listed["items"]:
            where = f"{path}/{one['metadata']['name']}"
            check_openapi.check_object(document, where, one)
            check_openapi.check_object(document, where, served(where))
        if not listed["items"]:
            empty.append(path.rpartition("/")[2])
    print("as described; none of", *sorted(empty))


main()
