"""The models of the application for Beanie."""

import datetime
import os
from typing import Optional

from beanie import Document, PydanticObjectId, init_beanie
from fastapi_users_db_beanie import BaseOAuthAccount, BeanieBaseUser, BeanieUserDatabase, ObjectIDIDMixin
from fastapi_users_db_beanie.access_token import BeanieAccessTokenDatabase, BeanieBaseAccessToken
from pydantic import Field
from pymongo import AsyncMongoClient

PydanticId = PydanticObjectId
IdMixin = ObjectIDIDMixin


class OAuthAccount(BaseOAuthAccount):
    pass


class User(BeanieBaseUser, Document):
    oauth_accounts: list[OAuthAccount] = Field(default_factory=list)
    first_name: str = ""
    birthday: Optional[datetime.date] = None
    role: str = "reader"
    newsletter: bool = False
    age: Optional[int] = None

    class Settings(BeanieBaseUser.Settings):
        # The stand-in of the tests knows no collations.
        email_collation = None
        indexes = []
        bson_encoders = {datetime.date: lambda day: datetime.datetime(day.year, day.month, day.day)}


class AccessToken(BeanieBaseAccessToken, Document):
    pass


client = AsyncMongoClient(os.environ["DATABASE"])


async def prepare():
    await init_beanie(database=client.get_default_database(), document_models=[User, AccessToken])


async def get_user_db():
    yield BeanieUserDatabase(User, OAuthAccount)


async def get_access_token_db():
    yield BeanieAccessTokenDatabase(AccessToken)


async def add_note(user):
    pass


async def finish():
    await client.close()
