"""The models of the application for SQLAlchemy, with UUIDs, or with integers if IDS=integer."""

import datetime
import os
import uuid
from typing import Optional

from fastapi import Depends
from fastapi_users import IntegerIDMixin, UUIDIDMixin
from fastapi_users_db_sqlalchemy import (
    SQLAlchemyBaseOAuthAccountTable,
    SQLAlchemyBaseOAuthAccountTableUUID,
    SQLAlchemyBaseUserTable,
    SQLAlchemyBaseUserTableUUID,
    SQLAlchemyUserDatabase,
)
from fastapi_users_db_sqlalchemy.access_token import (
    SQLAlchemyAccessTokenDatabase,
    SQLAlchemyBaseAccessTokenTable,
    SQLAlchemyBaseAccessTokenTableUUID,
)
from sqlalchemy import Enum, ForeignKey, Integer, String
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column, relationship

hasIntegers = os.environ.get("IDS") == "integer"
PydanticId = int if hasIntegers else uuid.UUID
IdMixin = IntegerIDMixin if hasIntegers else UUIDIDMixin


class Base(DeclarativeBase):
    pass


class Own:
    first_name: Mapped[str] = mapped_column(String(100), default="")
    birthday: Mapped[Optional[datetime.date]] = mapped_column(default=None)
    role: Mapped[str] = mapped_column(Enum("reader", "editor", name="role"), default="reader")
    newsletter: Mapped[bool] = mapped_column(default=False)
    age: Mapped[Optional[int]] = mapped_column(default=None)


if hasIntegers:

    class Numbered:
        id: Mapped[int] = mapped_column(Integer, primary_key=True)

    class OfUser:
        @declared_attr
        def user_id(cls) -> Mapped[int]:
            return mapped_column(Integer, ForeignKey("user.id", ondelete="cascade"), nullable=False)

    class OAuthAccount(Numbered, OfUser, SQLAlchemyBaseOAuthAccountTable[int], Base):
        pass

    class User(Numbered, Own, SQLAlchemyBaseUserTable[int], Base):
        oauth_accounts: Mapped[list[OAuthAccount]] = relationship("OAuthAccount", lazy="joined")

    class AccessToken(OfUser, SQLAlchemyBaseAccessTokenTable[int], Base):
        pass

else:

    class OAuthAccount(SQLAlchemyBaseOAuthAccountTableUUID, Base):
        pass

    class User(Own, SQLAlchemyBaseUserTableUUID, Base):
        oauth_accounts: Mapped[list[OAuthAccount]] = relationship("OAuthAccount", lazy="joined")

    class AccessToken(SQLAlchemyBaseAccessTokenTableUUID, Base):
        pass


class Note(Base):
    """A table of the application that references its users."""

    __tablename__ = "note"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    user_id: Mapped[PydanticId] = mapped_column(ForeignKey("user.id"))
    text: Mapped[str] = mapped_column(String(100))


engine = create_async_engine(os.environ["DATABASE"])
session_maker = async_sessionmaker(engine, expire_on_commit=False)


async def prepare():
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)


async def get_session():
    async with session_maker() as session:
        yield session


async def get_user_db(session=Depends(get_session)):
    yield SQLAlchemyUserDatabase(session, User, OAuthAccount)


async def get_access_token_db(session=Depends(get_session)):
    yield SQLAlchemyAccessTokenDatabase(session, AccessToken)


async def add_note(user):
    async with session_maker() as session:
        session.add(Note(user_id=user.id, text=f"a note of {user.email}"))
        await session.commit()


async def finish():
    await engine.dispose()
