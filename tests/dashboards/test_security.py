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


FOREIGN_ORIGINS = [
    *(
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://localhost",
        "",
        "http://[",
        "http://a@localhost:8050",
    ),
    *("localhost:8050", "//localhost:8050.evil.example", "http://localhost:8050.evil.example", "\xff"),
]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
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


def test_a_form_of_another_site_changes_nothing(client: FlaskClient) -> None:
    form = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Content-Type": "text/plain"}
    assert client.post("/_dash-update-component", headers=form, data="{}").status_code == 403


def test_no_other_site_is_allowed_to_read_answers(client: FlaskClient) -> None:
    asked = {"Host": "localhost:8050", "Access-Control-Request-Method": "GET"}
    headers = client.options("/api/lanes", headers=asked).headers
    assert not [name for name, _ in headers if name.lower().startswith("access-control-")]


TRAVERSALS = [
    *(
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/assets/..%5capp.py",
        "/assets//etc/passwd",
        "/assets/%2fetc/passwd",
    ),
    *(
        "/_dash-component-suites/dash/%2e%2e/setup.py",
        "/_dash-component-suites/dash/..%2f..%2fdash.py",
        "/..%2f..%2fetc/passwd",
    ),
    *("/_dash-component-suites/os/__init__.py", "/assets/theme.css%00.py"),
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out_of_the_assets(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    text = answer.get_data(as_text=True)
    assert answer.status_code < 500
    assert not [sign for sign in ("root:", "def ", "import ") if sign in text and "<html" not in text.lower()]


@pytest.mark.parametrize("text", ["x%0d%0aSet-Cookie:%20a=b", "%E5%98%8D%E5%98%8ASet-Cookie:%20a=b", "x%0aX-Evil:%201"])
def test_nothing_asked_becomes_a_header(client: FlaskClient, text: str) -> None:
    for path in (f"/api/lanes?run={text}", f"/waits?wait={text}", f"/{text}", f"/api/waits.csv?wait={text}"):
        answer = client.get(path)
        assert answer.status_code < 500
        assert "Set-Cookie" not in answer.headers
        assert "X-Evil" not in answer.headers
        assert all("\n" not in value and "\r" not in value for _, value in answer.headers)


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

    @pytest.mark.parametrize("path", ["//evil.example/", "/%5cevil.example/", "///evil.example", "/\\evil.example"])
    def test_the_way_in_leads_to_this_server_only(self, remote: FlaskClient, access: Access, path: str) -> None:
        location = remote.get(f"{path}?token={access.token}").headers.get("Location", "/")
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\", "/%5c"))

    @pytest.mark.parametrize("given", ["", "%ff%fe", "%ed%a0%80", "x" * 3000, "%00"])
    def test_an_odd_token_is_refused_and_crashes_nothing(self, remote: FlaskClient, given: str) -> None:
        assert remote.get(f"/?token={given}").status_code == 403
        remote.set_cookie(COOKIE, given)
        assert remote.get("/api/lanes").status_code == 403

    def test_a_part_of_the_token_or_an_old_one_is_refused(self, remote: FlaskClient, access: Access) -> None:
        for given in (
            access.token[:-1],
            access.token + "x",
            access.token.swapcase(),
            Access.for_host("10.0.0.1").token,
        ):
            assert remote.get("/", query_string={"token": given}).status_code == 403

    def test_another_site_is_refused_also_with_the_cookie(self, remote: FlaskClient, access: Access) -> None:
        remote.get(f"/?token={access.token}")
        assert remote.get("/api/lanes", headers={"Origin": "http://evil.example"}).status_code == 403
        assert remote.get("/api/lanes", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403

    def test_the_token_is_not_in_representations(self, access: Access) -> None:
        assert access.token not in repr(access)
        assert len(access.token) >= 32
