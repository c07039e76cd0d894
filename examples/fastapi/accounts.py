"""Who makes a request, by the accounts of Portcullis: current_user() has the parameters of fastapi-users."""

import os
import uuid
from http.cookiejar import DefaultCookiePolicy
from types import SimpleNamespace

import httpx
import jwt
from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

ACCOUNTS = os.environ.get("ACCOUNTS_URL", "http://localhost:3000")
ISSUER = os.environ.get("ACCOUNTS_ISSUER")  # the claim iss of JWTs; without it, /users/me decides on each request
AUDIENCE = "portcullis:auth"  # backends.<name>.strategy.audience
ALGORITHMS = ["EdDSA", "ES256", "RS256"]
USER_ID = uuid.UUID  # the type of User.id: int with integer ids

accounts = httpx.Client(base_url=ACCOUNTS, timeout=2)
# A client keeps cookies, and would send those of one user with the request of the next one.
accounts.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
keys = jwt.PyJWKClient(f"{ACCOUNTS}/.well-known/jwks.json", timeout=2)
bearer = HTTPBearer(auto_error=False)


def claims_of(token: str) -> dict:
    """The claims of an access token (RFC 9068), by the public keys. Raises jwt.PyJWTError if it is not valid."""
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":  # PyJWT does not check it
        raise jwt.InvalidTokenError("no access token")
    key = keys.get_signing_key_from_jwt(token)
    # The clock of this machine may be behind: so iat may be in the future.
    options = {"require": ["exp", "sub"], "verify_iat": False}
    return jwt.decode(token, key, algorithms=ALGORITHMS, issuer=ISSUER, audience=AUDIENCE, options=options)


def user_by_keys(token: str) -> SimpleNamespace | None:
    """The user of a JWT, with its claims as attributes. No other attribute of the user is known."""
    try:
        claims = claims_of(token)
    except jwt.PyJWKClientConnectionError as error:
        raise HTTPException(503) from error
    except jwt.PyJWTError:
        return None
    return SimpleNamespace(**claims, id=USER_ID(claims["sub"]))


def user_by_question(request: Request, level: int) -> SimpleNamespace | None:
    """The user of any credential, with the attributes of UserRead, as they are now."""
    credentials = [pair for pair in request.headers.raw if pair[0] in (b"authorization", b"cookie")]
    try:
        answer = accounts.get("/users/me", params={"level": 2} if level == 2 else {}, headers=credentials) if credentials else None
    except httpx.HTTPError as error:
        raise HTTPException(503) from error
    if answer is None or answer.status_code == 401:
        return None
    if answer.status_code == 403:  # a login without the second factor, or routers.users.requiresVerification
        raise HTTPException(403, answer.json().get("detail"))
    if answer.status_code != 200:
        raise HTTPException(503)
    user = answer.json()
    return SimpleNamespace(**{**user, "id": USER_ID(str(user["id"]))})


def current_user(
    *, active: bool = True, verified: bool = False, superuser: bool = False, optional: bool = False, level: int = 1
):
    """A dependency whose value is the user. `active` is there for fastapi-users: nobody else is ever logged in.

    With level=2, the login needs two factors. Other values than 1 and 2, such as "2", would let everybody in.
    """
    if level is True or level not in (1, 2):
        raise ValueError("level must be 1 or 2")

    def dependency(request: Request, credentials=Depends(bearer)) -> SimpleNamespace | None:
        token = credentials.credentials if credentials else ""
        if ISSUER and token.count(".") == 2 and not verified and not superuser:
            user = user_by_keys(token)
            if user and level == 2 and getattr(user, "acr", "1") != "2":
                raise HTTPException(403, "SECOND_FACTOR_REQUIRED")
        else:
            user = user_by_question(request, level)
        status = 401
        if user and (verified and not user.is_verified or superuser and not user.is_superuser):
            user, status = None, 403
        if user is None and not optional:
            raise HTTPException(status)
        return user

    return dependency
