"""Prints what a generated client takes from the OpenAPI document of an app with every router of fastapi-users.

    pip install 'fastapi-users[oauth]==15.0.5' && python summary.py > fastapi-document.json
"""

import json
import uuid

from fastapi import FastAPI
from fastapi_users import FastAPIUsers, schemas
from fastapi_users.authentication import AuthenticationBackend, BearerTransport, CookieTransport, JWTStrategy
from httpx_oauth.clients.google import GoogleOAuth2


class UserRead(schemas.BaseUser[uuid.UUID]):
    pass


class UserCreate(schemas.BaseUserCreate):
    pass


class UserUpdate(schemas.BaseUserUpdate):
    pass


def strategy():
    return JWTStrategy(secret="unused", lifetime_seconds=3600)


jwt = AuthenticationBackend("jwt", BearerTransport("auth/jwt/login"), strategy)
cookie = AuthenticationBackend("cookie", CookieTransport(), strategy)
users = FastAPIUsers(lambda: None, [jwt, cookie])
google = GoogleOAuth2("unused", "unused")

app = FastAPI()
for router, prefix, tag in [
    (users.get_auth_router(jwt), "/auth/jwt", "auth"),
    (users.get_auth_router(cookie), "/auth/cookie", "auth"),
    (users.get_register_router(UserRead, UserCreate), "/auth", "auth"),
    (users.get_reset_password_router(), "/auth", "auth"),
    (users.get_verify_router(UserRead), "/auth", "auth"),
    (users.get_users_router(UserRead, UserUpdate), "/users", "users"),
    (users.get_oauth_router(google, jwt, "unused"), "/auth/google", "auth"),
    (users.get_oauth_associate_router(google, UserRead, "unused"), "/auth/associate/google", "auth"),
]:
    app.include_router(router, prefix=prefix, tags=[tag])


def schema_of(media):
    return media["schema"].get("$ref", "any").split("/")[-1]


def content_of(part):
    return {kind: schema_of(media) for kind, media in part.get("content", {}).items()}


document = app.openapi()
operations = {
    f"{method} {path}": {
        "operationId": operation["operationId"],
        "tags": operation["tags"],
        "parameters": [f"{one['in']} {one['name']}" for one in operation.get("parameters", [])],
        "security": [name for one in operation.get("security", []) for name in one],
        "body": content_of(operation.get("requestBody", {})),
        "answers": {status: content_of(answer) for status, answer in operation["responses"].items()},
    }
    for path, methods in document["paths"].items()
    for method, operation in methods.items()
}
components = {
    name: {"required": one.get("required", []), "properties": list(one["properties"])}
    for name, one in document["components"]["schemas"].items()
}
schemes = {name: one["type"] for name, one in document["components"]["securitySchemes"].items()}
print(json.dumps({"operations": operations, "schemas": components, "securitySchemes": schemes}, indent=2))
