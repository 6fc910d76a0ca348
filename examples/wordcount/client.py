"""A program outside: calls two units of the word count over HTTP.  python client.py [URL]"""

import json
import sys
from urllib.request import Request, urlopen


def ask(url: str, body: object = None) -> dict:
    data = json.dumps(body).encode() if body else None
    with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=120) as answer:
        return json.load(answer)


if __name__ == "__main__":
    server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
    units = f"{server}/programs/wordcount/units"
    print(ask(f"{units}/how_often/calls?wait=10", {"word": "lantern"})["data"])  # from the live state of the stream
    answer = ask(f"{units}/favourite_words/calls?wait=60", {"until": 300})  # a Spark job
    for row in ask(server + answer["links"]["data"])["rows"]:
        print(f"{row['book']}: {row['word']} ({row['kind']}), {row['count']} times")
