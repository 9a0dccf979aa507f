"""Who is answered and what pages may load."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient
from stallscope_dashboard.app import create_app
from stallscope_dashboard.security import COOKIE, Access, is_loopback
from stallscope_dashboard.workspace import Workspace


@pytest.fixture
def client(workspace: Workspace) -> FlaskClient:
    return create_app(workspace).server.test_client()


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost:9", "[::1]:8050"])
def test_loopback_names_are_answered(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/lanes", "/_dash-layout", "/assets/theme.css"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8050", "[::2]:1", "[", ""])
def test_another_host_name_is_refused_everywhere(client: FlaskClient, path: str, host: str) -> None:
    assert client.get(path, headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "https://localhost"])
def test_another_origin_is_refused(client: FlaskClient, origin: str) -> None:
    headers = {"Host": "localhost:8050", "Origin": origin}
    assert client.post("/_dash-update-component", headers=headers, json={}).status_code == 403
    assert client.get("/api/lanes", headers=headers).status_code == 403


def test_the_own_origin_is_answered(client: FlaskClient) -> None:
    headers = {"Host": "localhost:8050", "Origin": "http://localhost:8050", "Sec-Fetch-Site": "same-origin"}
    assert client.get("/api/lanes", headers=headers).status_code == 200


def test_a_link_from_elsewhere_opens_a_page_but_no_data_is_fetched(client: FlaskClient) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/timeline", headers=link).status_code == 200
    assert client.get("/api/lanes", headers=image).status_code == 403


def test_pages_may_load_nothing_from_elsewhere_and_not_be_framed(client: FlaskClient) -> None:
    headers = client.get("/").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert "http" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_page_names_no_other_server(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    assert "https://" not in page
    assert "http://" not in page


def test_nothing_can_be_uploaded_or_asked_by_path(client: FlaskClient) -> None:
    assert client.post("/api/lanes").status_code == 405
    assert client.get("/api/lanes?run=../../etc/passwd").status_code == 404
    assert client.get("/assets/../app.py").status_code in {404, 200}
    assert b"create_app" not in client.get("/assets/../app.py").data


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104
        ("10.1.2.3", False),
        ("gpu-box", False),
    ],
)
def test_loopback_is_recognised(host: str, local: bool) -> None:  # noqa: FBT001
    assert is_loopback(host) is local
    assert bool(Access.for_host(host).token) is not local


class TestRemote:
    """Beyond loopback every request carries the token of this run."""

    @pytest.fixture
    def access(self) -> Access:
        return Access.for_host("0.0.0.0")  # noqa: S104

    @pytest.fixture
    def remote(self, workspace: Workspace, access: Access) -> FlaskClient:
        return create_app(workspace, access).server.test_client()

    @pytest.mark.parametrize("path", ["/", "/api/lanes", "/_dash-layout", "/assets/theme.css", "/?token=wrong"])
    def test_without_the_token_nothing_is_told(self, remote: FlaskClient, path: str) -> None:
        assert remote.get(path).status_code == 403

    def test_the_printed_address_lets_in_and_leaves_the_url(self, remote: FlaskClient, access: Access) -> None:
        answer = remote.get(f"/?token={access.token}")
        assert answer.status_code == 302
        assert access.token not in answer.headers["Location"]
        assert remote.get("/api/lanes").status_code == 200

    def test_the_cookie_is_for_this_site_only(self, remote: FlaskClient, access: Access) -> None:
        cookie = remote.get(f"/?token={access.token}").headers["Set-Cookie"]
        assert cookie.startswith(f"{COOKIE}=")
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie

    def test_the_token_is_not_in_representations(self, access: Access) -> None:
        assert access.token not in repr(access)
        assert len(access.token) >= 32
