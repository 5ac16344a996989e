"""Who may ask: keys, origins, hosts, sizes, and the headers that keep the page to itself."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from serve_house import House, said, services, serving
from serve_listeners import Echo

from empathia.core.errors import BadInput
from empathia.serve import Access

KEY, SECOND = "open-sesame", "second-key"


@pytest.fixture(scope="module")
def open_house() -> Iterator[House]:
    with serving(services(Echo()), access=Access(origins=("https://chat.example.org",))) as house:
        yield house


@pytest.fixture(scope="module")
def locked_house() -> Iterator[House]:
    with serving(services(Echo()), access=Access(keys=(KEY, SECOND))) as house:
        yield house


def paths(house: House) -> list[tuple[str, str]]:
    """Every route there is, from the OpenAPI document, and some that are not in it."""
    document = house.http.get("/openapi.json").json()
    listed = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    return [*listed, ("GET", "/openapi.json"), ("GET", "/nothing"), ("OPTIONS", "/v1/models"), ("GET", "/health/")]


def test_a_key_guards_every_route_but_health_and_the_page(locked_house):
    asked = paths(locked_house)
    assert len(asked) >= 12
    with httpx.Client(base_url=locked_house.url) as stranger:
        for method, path in asked:
            status = stranger.request(method, path).status_code
            assert status == (200 if path == "/health" else 401), (method, path)
        for path in ("/static/../v1/models", "/static/..%2fv1/models", "//v1/models", "/static", "/STATIC/x", "/./v1"):
            assert stranger.get(locked_house.url + path).status_code in (401, 404), path
        assert stranger.get("/").status_code == 200
        assert stranger.get("/static/nothing.css").status_code == 404


@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", "Bearer \u00fc"]
)
def test_wrong_keys_open_nothing(locked_house, sent):
    response = httpx.get(
        f"{locked_house.url}/v1/models", verify=False, headers={"Authorization": sent.encode("latin-1")}
    )
    assert response.status_code == 401 and response.headers["www-authenticate"] == "Bearer"
    error = response.json()["error"]
    assert error["code"] == "invalid_api_key" and KEY not in response.text


@pytest.mark.parametrize("sent", [f"Bearer {KEY}", f"bearer {SECOND}"])
def test_every_key_opens(locked_house, sent):
    assert httpx.get(f"{locked_house.url}/v1/models", verify=False, headers={"Authorization": sent}).status_code == 200


def test_beyond_this_machine_only_with_a_key():
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(BadInput, match="needs a key"):
            Access(host=host)
        assert not Access(host=host, keys=(KEY,)).local
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        assert Access(host=host).local
    with pytest.raises(BadInput, match="ASCII"):
        Access(keys=("two words",))
    with pytest.raises(BadInput, match="ASCII"):
        Access(keys=("",))


def test_headers_keep_the_page_to_itself(open_house):
    for path in ("/", "/health", "/v1/models", "/nothing", "/static/page.css"):
        headers = open_house.http.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
    assert open_house.http.get("/v1/models").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:8080", "https://chat.example.org"])
def test_pages_of_this_machine_and_named_ones_may_ask(open_house, origin):
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    preflight = open_house.http.options("/v1/chat/completions", headers=asked)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == origin
    assert preflight.headers["access-control-allow-headers"] == "authorization"
    answer = open_house.http.post("/v1/reply", json={"messages": said("hi")}, headers={"Origin": origin})
    assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == origin
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[", "x"])
def test_pages_of_other_sites_may_not(open_house, origin):
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    for response in (
        open_house.http.options("/v1/reply", headers=asked),
        open_house.http.post("/v1/reply", json={"messages": said("hi")}, headers={"Origin": origin}),
    ):
        assert response.status_code == 403 and response.json()["error"]["code"] == "wrong_origin"
        assert "access-control-allow-origin" not in response.headers


def test_a_name_made_to_point_here_is_refused(open_house):
    for host in ("evil.example", "evil.example:8600", "127.0.0.1.evil.example", ""):
        response = open_house.http.get("/health", headers={"Host": host})
        assert response.status_code == 403 and response.json()["error"]["code"] == "wrong_host"
    for host in ("localhost", "LOCALHOST:99", "[::1]:8600", "chat.example.org"):
        assert open_house.http.get("/health", headers={"Host": host}).status_code == 200


def test_large_bodies_are_refused_announced_or_not(open_house):
    large = b"x" * 300_000
    response = open_house.http.post("/v1/reply", content=large)
    assert response.status_code == 413 and response.json()["error"]["code"] == "request_too_large"
    response = open_house.http.post("/v1/reply", content=iter([large[:150_000], large[:150_000]]))
    assert response.status_code == 413


def test_a_body_that_never_comes_is_given_up(open_house, monkeypatch):
    import socket

    monkeypatch.setattr("empathia.serve.access.SLOWEST_BODY", 0.2)
    with socket.create_connection(("127.0.0.1", open_house.port), timeout=10) as lingering:
        lingering.sendall(b"POST /v1/reply HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert b" 408 " in lingering.recv(200).split(b"\r\n")[0]
