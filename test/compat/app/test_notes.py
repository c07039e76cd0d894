"""The tests of notes.py. PEOPLE has an id, an address and headers for each role."""

import json
import os
import uuid

import httpx
import pytest

people = json.loads(os.environ["PEOPLE"])
client = httpx.Client(base_url=os.environ["NOTES_URL"], timeout=60)
unauthorized = (401, {"detail": "Unauthorized"})
forbidden = (403, {"detail": "Forbidden"})
members = ["root", "writer", "unverified"]


def ask(method, path, role=None, **more):
    answer = client.request(method, path, headers=people[role]["headers"] if role else {}, **more)
    return answer.status_code, answer.json()


def own(role, path="/notes"):
    return ask("GET", path, role)


@pytest.mark.parametrize("path", ["/profile", "/notes", "/statistics"])
def test_nobody_is_refused(path):
    for role in [None, "inactive", "stranger"]:
        assert own(role, path) == unauthorized


def test_the_home_page_is_for_everybody():
    for role in [None, "inactive", "stranger"]:
        assert own(role, "/") == (200, {"user": None, "writes": False})
    for role in members:
        assert own(role, "/") == (200, {"user": people[role]["id"], "writes": role != "unverified"})


def test_verified_users_write_notes_which_are_theirs():
    text = str(uuid.uuid4())
    assert ask("POST", "/notes", "writer", json={"text": text}) == (201, None)
    status, notes = own("writer")
    assert (status, notes[-1]) == (200, f"{text}, by {people['writer']['email']}")
    for role in ["root", "unverified"]:
        status, notes = own(role)
        assert status == 200 and not any(text in note for note in notes)


def test_others_write_none():
    assert ask("POST", "/notes", "unverified", json={"text": "x"}) == forbidden
    for role in [None, "inactive", "stranger"]:
        assert ask("POST", "/notes", role, json={"text": "x"}) == unauthorized


def test_verified_superusers_see_the_statistics():
    status, body = own("root", "/statistics")
    assert status == 200 and body["notes"] > 0
    for role in ["writer", "unverified"]:
        assert own(role, "/statistics") == forbidden


@pytest.mark.parametrize("role", members)
def test_profile(role):
    email, first_name = people[role]["email"], people[role]["first_name"]
    assert own(role, "/profile") == (200, {"email": email, "first_name": first_name})
