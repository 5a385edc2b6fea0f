"""django-redis: the cache, its locks and patterns, and sessions kept in it."""

import sys

import django
from django.conf import settings

settings.configure(
    CACHES={
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{sys.argv[1]}/1",
            "OPTIONS": {"CLIENT_CLASS": "django_redis.client.DefaultClient"},
        }
    },
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
    SECRET_KEY="not secret",
)
django.setup()


def main() -> None:
    # These read the settings when they are imported.
    from django.contrib.sessions.backends.cache import SessionStore
    from django.core.cache import cache

    cache.set("a", {"deep": [1, 2]}, timeout=100)
    assert cache.get("a") == {"deep": [1, 2]} and 0 < cache.ttl("a") <= 100
    assert cache.add("a", 1) is False and cache.get("absent", "default") == "default"
    cache.set_many({f"key:{number}": number for number in range(100)})
    assert cache.get_many([f"key:{number}" for number in range(100)]) == {f"key:{n}": n for n in range(100)}
    assert cache.incr("key:1", 5) == 6 and cache.incr_version("key:2") == 2
    assert len(list(cache.iter_keys("key:*"))) == 99 and cache.delete_pattern("key:*") == 99
    cache.persist("a")
    assert cache.ttl("a") is None and cache.touch("a", 50) and cache.pttl("a") <= 50_000
    with cache.lock("job", timeout=10) as held:
        assert not cache.lock("job", timeout=10).acquire(blocking=False)
        held.extend(10)
    assert cache.lock("job", timeout=10).acquire(blocking=False)
    session = SessionStore()
    session["user"] = "ada"
    session.save()
    again = SessionStore(session.session_key)
    assert again["user"] == "ada"
    again.flush()
    assert not SessionStore(session.session_key).exists(session.session_key)
    print("all good")


main()
