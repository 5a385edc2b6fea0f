"""Flask-Caching: a cached view, memoized functions and their removal."""

import sys

from flask import Flask
from flask_caching import Cache

app = Flask(__name__)
cache = Cache(
    app,
    config={
        "CACHE_TYPE": "RedisCache",
        "CACHE_REDIS_URL": f"redis://127.0.0.1:{sys.argv[1]}/2",
        "CACHE_KEY_PREFIX": "f:",
    },
)
calls: list[str] = []


@app.route("/page")
@cache.cached(timeout=60)
def page() -> str:
    calls.append("page")
    return f"page {len(calls)}"


@cache.memoize(timeout=60)
def square(number: int) -> int:
    calls.append(f"square {number}")
    return number * number


def main() -> None:
    client = app.test_client()
    assert client.get("/page").text == client.get("/page").text == "page 1" and calls == ["page"]
    with app.app_context():
        assert [square(number) for number in (2, 3, 2, 3)] == [4, 9, 4, 9] and len(calls) == 3
        cache.delete_memoized(square, 2)
        assert square(2) == 4 and square(3) == 9 and len(calls) == 4
        cache.delete_memoized(square)
        assert square(3) == 9 and len(calls) == 5
        assert cache.set_many({"x": 1, "y": [2]}) and cache.get_many("x", "y") == [1, [2]]
        assert cache.add("x", 5) is False and cache.cache.inc("n", 2) == 2
        cache.clear()
        assert cache.get("x") is None
    assert client.get("/page").text != "page 1"
    print("all good")


main()
