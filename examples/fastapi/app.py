"""Notes, which only their owners see. Users with a verified address write them, and superusers see all."""

from fastapi import Body, Depends, FastAPI

from accounts import current_user

app = FastAPI()
notes = {}  # by user id, until the process ends


@app.get("/")
def home(user=Depends(current_user(optional=True))):
    return {"user": user and user.id}


@app.get("/notes")
def read(user=Depends(current_user())):
    return notes.get(user.id, [])


@app.post("/notes", status_code=201)
def write(text: str = Body(embed=True), user=Depends(current_user(verified=True))):
    notes.setdefault(user.id, []).append({"text": text, "by": user.email})
    return notes[user.id]


@app.delete("/notes", status_code=204)
def remove(user=Depends(current_user(level=2))):
    notes.pop(user.id, None)


@app.get("/all-notes")
def read_all(user=Depends(current_user(superuser=True))):
    return notes
