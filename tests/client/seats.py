"""A person's seat, taken by a program in a study that allows this."""

from handful.connection import Connection


def join(server, link) -> tuple[Connection, dict]:
    """Take a seat. Return a connection with its token, and the state."""
    code = link.rstrip("/").rpartition("/")[2]
    with Connection(server, "") as connection:
        del connection.http.headers["Authorization"]
        arrival = connection.get(f"join/{code}/")["arrival"]
        reply = connection.post(f"join/{code}/", {"arrival": arrival}, again=True)
    return Connection(server, reply["token"]), reply["state"]


def answer(seat, state, **fields):
    return seat.post("work/answer/", {"turn": state["question"]["turn"], "answer": fields})


def go_through(seat, state):
    """Complete every step; return the steps in order."""
    steps = []
    for _step in range(2000):
        steps.append(state["step"])
        match state:
            case {"step": "consent"}:
                state = seat.post("work/consent/", {"agree": True})
            case {"step": "instructions", "leads_to": "begin"}:
                state = seat.post("work/begin/")
            case {"step": "question", "task": {"labels": [first, *_others]}}:
                state = answer(seat, state, label=first["name"])
            case {"step": "question"}:
                state = answer(seat, state, no_answer=True)
            case {"step": "instructions" | "reveal" | "review" as step}:
                state = seat.post("work/continue/", {"leaving": step})
            case _:
                return steps
    raise AssertionError("it does not end")
