"""Makes people by the code of the application, and prints what they know as JSON: python people.py COUNT LOGINS"""

import asyncio
import contextlib
import datetime
import json
import sys

import app
from pydantic import ValidationError

count, logins = int(sys.argv[1]), int(sys.argv[2])


async def person(number, manager, strategies, db):
    """Every fourth is not verified, every fifth has an account at a provider, every seventh has two, one is not active."""
    own = {
        "first_name": f"Zoë {number}",
        "birthday": datetime.date(1970 + number % 40, 1 + number % 12, 1 + number % 28) if number % 3 else None,
        "role": "editor" if number % 6 == 0 else "reader",
        "newsletter": number % 2 == 0,
        "age": number % 80 if number % 5 else None,
    }
    email, password = f"Person.{number}@example.com", f"password {number} of their own"
    user = await manager.create(app.UserCreate(email=email, password=password, **own))
    links = ["acme", "other"] if number % 7 == 0 else ["acme"] if number % 5 == 0 else []
    for name in links:
        account = {
            "oauth_name": name,
            "access_token": f"access of {number} at {name}",
            "refresh_token": f"refresh of {number}" if number % 2 else None,
            "expires_at": 1_900_000_000 + number if number % 2 else None,
            "account_id": f"{name}-{number}",
            "account_email": email,
        }
        user = await manager.user_db.add_oauth_account(user, account)
    changes = {"is_verified": number % 4 != 0, "is_active": number != 2, "is_superuser": number == 1}
    user = await manager.user_db.update(user, changes)
    tokens = {}
    if number <= logins and changes["is_active"]:
        tokens = {name: await strategy.write_token(user) for name, strategy in strategies.items()}
    if number % 2:
        await app_note(user)
    return {
        "id": str(user.id),
        "email": user.email,
        "password": password,
        "own": {**own, "birthday": own["birthday"] and own["birthday"].isoformat()},
        "links": links,
        **changes,
        "tokens": tokens,
    }


async def main():
    await app.prepare()
    async with contextlib.AsyncExitStack() as stack:
        opened = lambda generator: stack.enter_async_context(contextlib.asynccontextmanager(generator)())
        if app.DATABASE.startswith("mongodb"):
            db, tokens = await opened(app.get_user_db), await opened(app.get_access_token_db)
        else:
            import store_sql as sql

            session = await opened(sql.get_session)
            db = sql.SQLAlchemyUserDatabase(session, sql.User, sql.OAuthAccount)
            tokens = sql.SQLAlchemyAccessTokenDatabase(session, sql.AccessToken)
        strategies = {"jwt": app.get_jwt_strategy(), "cookie": app.get_database_strategy(tokens)}
        if "REDIS" in app.os.environ:
            strategies["redis"] = app.get_redis_strategy()
        manager = app.UserManager(db)
        people = [await person(number, manager, strategies, db) for number in range(1, count + 1)]
    print(json.dumps(people))
    await app.store.aclose()
    await finish()


if app.DATABASE.startswith("mongodb"):
    from store_beanie import add_note as app_note, finish
else:
    from store_sql import add_note as app_note, finish

asyncio.run(main())
