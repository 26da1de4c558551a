"""Checks of the home, and of what a person wrote beside the ledger: is it understood?"""

from __future__ import annotations

import os

from agent_ledger.engine import settings
from agent_ledger.engine.policy.mode import MODES, mode_of
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.place import Place
from ledger_tui.sources.small_files import read_text


def home(place: Place) -> Check:
    if os.path.isdir(place.home):
        if os.access(place.home, os.R_OK | os.X_OK):
            return Check("home", OK, f"The Hermes home is {place.home}.")
        return Check(
            "home",
            FAIL,
            f"{place.home} cannot be entered by you, so what follows tells little.",
            "Look as the user as whom the host runs, or give the folder back to yourself.",
        )
    return Check(
        "home",
        FAIL,
        f"There is no Hermes home at {place.home}.",
        "Run hermes once, or name its home with --hermes-home or HERMES_HOME.",
    )


def settings_file(place: Place) -> Check:
    path = place.data / "settings.json"
    try:
        found = settings.parse(read_text(path, 1_000_000, errors="strict"))
    except FileNotFoundError:
        return Check("settings", OK, "There is no settings.json: the defaults hold.")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return Check("settings", FAIL, f"{path} cannot be read ({why}); the defaults hold.", "Mend or remove it.")
    if found.problems:
        return Check("settings", WARN, f"{'; '.join(found.problems)}.", f"Mend {path}; until then those defaults hold.")
    if not found.redact:
        return Check(
            "settings",
            WARN,
            "Secrets are not taken out of what is recorded: settings.json says redact: false.",
            "Remove that entry unless you mean it.",
        )
    return Check("settings", OK, "settings.json is understood.")


def policy_modes(place: Place) -> list[Check]:
    checks = []
    for name in ("policy_mode", "prompt_policy_mode"):
        path = place.data / name
        mode = mode_of(path)
        if mode.valid:
            checks.append(Check(name.replace("_", "-"), OK, f"The mode is {mode.value}."))
            continue
        why = (
            "holds no word that is understood" if os.access(path, os.R_OK) and os.path.isfile(path) else "is unreadable"
        )
        remedy = f"Write one of {', '.join(MODES)} into it; until then the last mode that was read stays in force."
        checks.append(Check(name.replace("_", "-"), WARN, f"{path} {why}.", remedy))
    return checks
