"""Lets the router tests of fastapi-users ask a running Portcullis (see bridge.ts and router-tests.long.test.ts).

The tests mount real routers of fastapi-users, which give the names of the routes, and mock what happens behind them.
The client here sends their requests to the service instead, and brings about there what a mock says.
"""

import asyncio
import os
import uuid
from dataclasses import dataclass, field
from unittest.mock import MagicMock

import httpx
import pytest
from fastapi_users import exceptions, schemas
from fastapi_users.authentication import AuthenticationBackend, BearerTransport
from httpx_oauth.oauth2 import OAuth2

JWT_SECRET = "a secret of the tests, which the service does not know"
AsyncMethodMocker = object
UserManagerMock = object
bridge = httpx.Client(base_url=os.environ["BRIDGE_URL"], timeout=60)


@dataclass
class UserModel:
    email: str
    password: str
    is_active: bool = True
    is_superuser: bool = False
    is_verified: bool = False
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    hashed_password: str = ""


UserOAuthModel = UserModel


class User(schemas.BaseUser[uuid.UUID]):
    first_name: str | None = None


class UserCreate(schemas.BaseUserCreate):
    first_name: str | None = None


class UserUpdate(schemas.BaseUserUpdate):
    first_name: str | None = None


def get_mock_authentication(name):
    return AuthenticationBackend(name=name, transport=BearerTransport("/login"), get_strategy=lambda: None)


@pytest.fixture
def mock_authentication():
    return get_mock_authentication("mock")


@pytest.fixture
def oauth_client():
    return OAuth2("ID", "SECRET", "https://www.camelot.bt/authorize", "https://www.camelot.bt/token", name="service1")


@pytest.fixture
def secret():
    return JWT_SECRET


@pytest.fixture
def async_method_mocker():
    def mock(target, method, return_value=None):
        setattr(target, method, MagicMock(return_value=return_value))
        return getattr(target, method)

    return mock


@pytest.fixture
def people():
    return {
        "user": UserModel("king.arthur@camelot.bt", "guinevere"),
        "inactive_user": UserModel("percival@camelot.bt", "angharad", is_active=False),
        "verified_user": UserModel("lake.lady@camelot.bt", "excalibur", is_verified=True),
        "superuser": UserModel("merlin@camelot.bt", "viviane", is_superuser=True),
        "verified_superuser": UserModel("the.real.merlin@camelot.bt", "viviane", is_superuser=True, is_verified=True),
    }


def person(name):
    @pytest.fixture(name=name)
    def fixture(people):
        return people[name.removesuffix("_oauth")]

    return fixture


user, user_oauth = person("user"), person("user_oauth")
inactive_user, inactive_user_oauth = person("inactive_user"), person("inactive_user_oauth")
verified_user, superuser, verified_superuser = person("verified_user"), person("superuser"), person("verified_superuser")


class Manager:
    """Stands in for the user manager: a test says by its mocks what shall happen, and asks them what has happened."""

    methods = ["get_by_email", "request_verify", "verify", "forgot_password", "reset_password", "on_after_login"]

    def __init__(self):
        for name in self.methods:
            setattr(self, name, MagicMock(return_value=None))


class Database:
    async def update(self, user):
        pass

    async def delete(self, user):
        pass


@pytest.fixture
def mock_user_db():
    return Database()


@pytest.fixture
def user_manager():
    return Manager()


@pytest.fixture
def user_manager_oauth(user_manager):
    return user_manager


@pytest.fixture
def get_user_manager(user_manager):
    return lambda: user_manager


@pytest.fixture
def get_user_manager_oauth(user_manager):
    return lambda: user_manager


def real_password(password):
    """The service takes no password of fewer than 8 characters, and the test app none of fewer than 3."""
    if not isinstance(password, str) or len(password) >= 8:
        return password
    return f"{password} is too short" if len(password) < 3 else f"{password} the wizard"


class Client(httpx.AsyncClient):
    def __init__(self, service, people, manager, db, oauth):
        super().__init__(base_url=service)
        self.people, self.manager, self.db, self.oauth = people, manager, db, oauth
        self.tokens = {}

    async def bearer_of(self, someone):
        """A credential of the service for somebody, in place of the user id that the mocked strategy takes."""
        if someone.id not in self.tokens:
            if not someone.is_active:
                await self.change(someone, is_active=True)
            form = {"username": someone.email, "password": someone.password}
            answer = await super().request("POST", "/bridge/login", data=form)
            assert answer.status_code == 200, answer.text
            self.tokens[someone.id] = answer.json()["access_token"]
            await self.event("on_after_login", someone)
            if not someone.is_active:
                await self.change(someone, is_active=False)
        return self.tokens[someone.id]

    async def event(self, name, someone):
        """Waits for an event of the service."""
        found = bridge.get("/event", params={"event": name, "id": str(someone.id)})
        assert found.status_code == 200, f"there was no {name}"
        return found.json()

    async def change(self, someone, **changes):
        root = await self.bearer_of(self.people["verified_superuser"])
        headers = {"Authorization": f"Bearer {root}"}
        if changes:
            answer = await super().request("PATCH", f"/users/{someone.id}", json=changes, headers=headers)
        else:
            answer = await super().request("DELETE", f"/users/{someone.id}", headers=headers)
        assert answer.is_success, answer.text

    async def token_of(self, path, event):
        someone = self.people["user"]
        await super().request("POST", path, json={"email": someone.email})
        return (await self.event(event, someone))["token"]

    async def stage(self, path, body):
        """Brings about what the mocks say, and returns the body to send."""
        manager, arthur = self.manager, self.people["user"]
        if "password" in body:
            body = {**body, "password": real_password(body["password"])}
        if path == "/request-verify-token" and manager.get_by_email.return_value is not None:
            effect = manager.request_verify.side_effect
            if isinstance(effect, exceptions.UserInactive):
                await self.change(arthur, is_active=False)
            if isinstance(effect, exceptions.UserAlreadyVerified):
                await self.change(arthur, is_verified=True)
            return {**body, "email": arthur.email}
        if path == "/reset-password" and body.keys() >= {"token", "password"}:
            effect = manager.reset_password.side_effect
            if isinstance(effect, exceptions.InvalidResetPasswordToken):
                return body
            token = await self.token_of("/auth/forgot-password", "on_after_forgot_password")
            if isinstance(effect, exceptions.UserInactive):
                await self.change(arthur, is_active=False)
            if isinstance(effect, exceptions.InvalidPasswordException):
                body = {**body, "password": f"{body['password']} is refused: {effect.reason}"}
            return {**body, "token": token}
        if path == "/verify" and "token" in body:
            effect = manager.verify.side_effect
            if isinstance(effect, exceptions.InvalidVerifyToken):
                return body
            token = await self.token_of("/auth/request-verify-token", "on_after_request_verify")
            if isinstance(effect, exceptions.UserNotExists):
                await self.change(arthur)
            if isinstance(effect, exceptions.UserAlreadyVerified):
                await self.change(arthur, is_verified=True)
            return {**body, "token": token}
        return body

    async def request(self, method, path, *, json=None, headers=None, **others):
        if isinstance(json, dict):
            json = await self.stage(path, json)
        caller = None
        if headers is not None:
            named = headers["Authorization"].removeprefix("Bearer ")
            caller = next(one for one in self.people.values() if str(one.id) == named)
            headers = {"Authorization": f"Bearer {await self.bearer_of(caller)}"}
        answer = await super().request(method, self.mounted(path), json=json, headers=headers, **others)
        return await self.reported(method, path, caller, answer)

    @staticmethod
    def mounted(path):
        if path.startswith(("/mock", "/oauth")):
            return path
        routes = ("/register", "/forgot-password", "/reset-password", "/request-verify-token", "/verify")
        return f"/auth{path}" if path in routes else f"/users{path}"

    async def reported(self, method, path, caller, answer):
        """Tells the mocks what the service did, and returns the answer in the words of the mocked strategy."""
        if not answer.is_success:
            return answer
        if path.endswith("/login") or path == "/oauth/callback":
            headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
            me = (await super().request("GET", "/users/me", headers=headers)).json()
            return_to = next(one for one in self.people.values() if str(one.id) == me["id"])
            event = await self.event("on_after_login", return_to)
            self.manager.on_after_login(me, event, answer)
            return httpx.Response(200, json={**answer.json(), "access_token": me["id"]})
        if path.endswith("/logout"):
            return httpx.Response(200)
        if path.endswith("/authorize"):
            self.oauth.get_authorization_url()
            cookies = [value for name, value in answer.cookies.items() if "oauth-" in name]
            request = httpx.Request("GET", "http://service/")
            named = {"Set-Cookie": f"fastapiusersoauthcsrf={cookies[0]}"}
            return httpx.Response(200, json=answer.json(), headers=named, request=request)
        if path == "/me" or path.count("/") == 1 and len(path) == 37:
            someone = caller if path == "/me" else next(p for p in self.people.values() if str(p.id) == path[1:])
            if method == "PATCH":
                await self.event("on_after_update", someone)
                changed = bridge.get("/hash", params={"id": str(someone.id)}).json()
                await self.db.update(UserModel(**{**vars(someone), "hashed_password": changed}))
            if method == "DELETE":
                await self.event("on_after_delete", someone)
                await self.db.delete(someone)
        return answer


@pytest.fixture
def get_test_client(request, people, user_manager, mock_user_db, oauth_client):
    async def client_of(app):
        needed = request.node.callspec.params.get("test_app_client") if hasattr(request.node, "callspec") else None
        rules = {"requiresVerification": needed is True, "redirects": "test_app_client_redirect_url" in request.fixturenames}
        given = {**rules, "people": [{**vars(one), "id": str(one.id)} for one in people.values()]}
        deployed = bridge.post("/deploy", json=given).json()
        for one in people.values():
            one.hashed_password = deployed["hashes"][str(one.id)]
        async with Client(deployed["url"], people, user_manager, mock_user_db, oauth_client) as client:
            yield client

    return client_of
