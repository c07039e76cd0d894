"""An application of fastapi-users 15 as its documents show it, with columns of its own. The environment says where it stores."""

import datetime
import json
import os
import uuid
from typing import Optional

from fastapi import Depends, FastAPI
from fastapi_users import BaseUserManager, FastAPIUsers, IntegerIDMixin, UUIDIDMixin, schemas
from fastapi_users.authentication import (
    AuthenticationBackend,
    BearerTransport,
    CookieTransport,
    JWTStrategy,
    RedisStrategy,
)
from fastapi_users.authentication.strategy.db import DatabaseStrategy
from httpx_oauth.oauth2 import OAuth2
import redis.asyncio

DATABASE = os.environ["DATABASE"]
SECRET = os.environ.get("SECRET", "the secret of the former application")
LIFETIME = int(os.environ.get("LIFETIME", 30 * 86400))

if DATABASE.startswith("mongodb"):
    from store_beanie import AccessToken, IdMixin, PydanticId, User, get_access_token_db, get_user_db, prepare
else:
    from store_sql import AccessToken, IdMixin, PydanticId, User, get_access_token_db, get_user_db, prepare


class Own(schemas.CreateUpdateDictModel):
    first_name: str = ""
    birthday: Optional[datetime.date] = None
    role: str = "reader"
    newsletter: bool = False
    age: Optional[int] = None


class UserRead(schemas.BaseUser[PydanticId], Own):
    pass


class UserCreate(schemas.BaseUserCreate, Own):
    pass


class UserUpdate(schemas.BaseUserUpdate, Own):
    pass


def tell(event, user, **more):
    print(json.dumps({"event": event, "email": user.email, **more}), flush=True)


class UserManager(IdMixin, BaseUserManager[User, PydanticId]):
    reset_password_token_secret = SECRET
    verification_token_secret = SECRET

    async def on_after_forgot_password(self, user, token, request=None):
        tell("forgot", user, token=token)

    async def on_after_request_verify(self, user, token, request=None):
        tell("verify", user, token=token)


async def get_user_manager(user_db=Depends(get_user_db)):
    yield UserManager(user_db)


def get_database_strategy(db=Depends(get_access_token_db)):
    return DatabaseStrategy(db, lifetime_seconds=LIFETIME)


def get_jwt_strategy():
    return JWTStrategy(secret=SECRET, lifetime_seconds=LIFETIME)


store = redis.asyncio.from_url(os.environ.get("REDIS", "redis://127.0.0.1:1"), decode_responses=True)


def get_redis_strategy():
    return RedisStrategy(store, lifetime_seconds=LIFETIME)


transport = CookieTransport(cookie_max_age=LIFETIME, cookie_secure=False)
cookie = AuthenticationBackend("cookie", transport, get_database_strategy)
jwt = AuthenticationBackend("jwt", BearerTransport("auth/jwt/login"), get_jwt_strategy)
in_redis = AuthenticationBackend("redis", BearerTransport("auth/redis/login"), get_redis_strategy)
backends = [cookie, jwt, in_redis]
users = FastAPIUsers[User, PydanticId](get_user_manager, backends)

app = FastAPI(on_startup=[prepare])
for backend in backends:
    app.include_router(users.get_auth_router(backend), prefix=f"/auth/{backend.name}", tags=["auth"])
app.include_router(users.get_register_router(UserRead, UserCreate), prefix="/auth", tags=["auth"])
app.include_router(users.get_reset_password_router(), prefix="/auth", tags=["auth"])
app.include_router(users.get_verify_router(UserRead), prefix="/auth", tags=["auth"])
app.include_router(users.get_users_router(UserRead, UserUpdate), prefix="/users", tags=["users"])


class Provider(OAuth2):
    """A provider of the tests, which has its account in a profile."""

    async def get_id_email(self, token):
        async with self.get_httpx_client() as client:
            answer = await client.get(f"{self.site}/profile", headers={"Authorization": f"Bearer {token}"})
        profile = answer.json()
        return str(profile["id"]), profile["email"]


for name in ["acme", "other"]:
    site = os.environ.get(f"{name.upper()}_SITE", f"https://{name}.example")
    client = Provider(f"client-of-{name}", f"secret-of-{name}", f"{site}/authorize", f"{site}/token", name=name)
    client.site = site
    oauth = users.get_oauth_router(client, jwt, SECRET, is_verified_by_default=True)
    app.include_router(oauth, prefix=f"/auth/{name}", tags=["auth"])
    link = users.get_oauth_associate_router(client, UserRead, SECRET)
    app.include_router(link, prefix=f"/auth/associate/{name}", tags=["auth"])
