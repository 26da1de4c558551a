"""Checks of the home, and of what a person wrote beside the ledger: is it understood?"""

from __future__ import annotations

from agent_ledger.engine import settings
from ledger_tui.commands.checks import FAIL, OK, WARN, Check
from ledger_tui.commands.place import Place
from ledger_tui.commands.status import read_mode
from ledger_tui.sources.small_files import read_text


def home(place: Place) -> Check:
    if place.home.is_dir():
        return Check("home", OK, f"The Hermes home is {place.home}.")
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
        mode = read_mode(place.data / name)
        if mode == "invalid":
            checks.append(
                Check(
                    name.replace("_", "-"),
                    WARN,
                    f"{place.data / name} holds no word that is understood.",
                    "Write one of off, dry_run, enforce into it.",
                )
            )
        else:
            checks.append(Check(name.replace("_", "-"), OK, f"The mode is {mode}."))
    return checks
