"""Notes of the users of app.py: an application with routes of its own."""

from fastapi import Body, Depends, FastAPI
from sqlalchemy import func, select

from app import app as account_routes
from app import users
from store_sql import Note, get_session, prepare

app = FastAPI(on_startup=[prepare])
app.include_router(account_routes.router)


@app.get("/")
async def home(
    user=Depends(users.current_user(active=True, optional=True)),
    writer=Depends(users.current_user(active=True, verified=True, optional=True)),
):
    return {"user": user and user.id, "writes": writer is not None}


@app.get("/profile")
async def profile(user=Depends(users.current_user(active=True))):
    return {"email": user.email, "first_name": user.first_name}


@app.get("/notes")
async def read(user=Depends(users.current_user(active=True)), session=Depends(get_session)):
    return (await session.scalars(select(Note.text).where(Note.user_id == user.id))).all()


@app.post("/notes", status_code=201)
async def write(
    text: str = Body(embed=True),
    user=Depends(users.current_user(active=True, verified=True)),
    session=Depends(get_session),
):
    session.add(Note(user_id=user.id, text=f"{text}, by {user.email}"))
    await session.commit()


@app.get("/statistics")
async def statistics(
    user=Depends(users.current_user(active=True, verified=True, superuser=True)), session=Depends(get_session)
):
    return {"notes": await session.scalar(select(func.count(Note.id)))}
