"""Chats of everyday life: bookings, parcels, a thesis, photos. Every person, host, number and address is invented."""

from __future__ import annotations

from dataclasses import replace

from ledger_tui.demo.making import cron, heard_late, lost, mcp, patch, read, shell, timed_out, unheard, write
from ledger_tui.demo.story import Call, Chat, Compaction, Turn

MIN, HOUR, DAY = 60.0, 3600.0, 86400.0

# Characters that a terminal obeys or hides, by their names: arguments with them must be shown harmlessly.
ESC, BELL = "\N{ESCAPE}", "\N{BEL}"
RIGHT_TO_LEFT = "\N{RIGHT-TO-LEFT OVERRIDE}"
ISOLATE, END_ISOLATE = "\N{LEFT-TO-RIGHT ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
ZERO_WIDTH = "\N{ZERO WIDTH SPACE}"
FAMILY = "\N{ZERO WIDTH JOINER}".join("👨👩👧👦")

COTTAGE = Chat(
    name="cottage",
    source="telegram",
    title="Cottage bookings",
    user_id="70010001",
    chat_id="70010001",
    chat_type="dm",
    turns=(
        Turn(
            -1.3 * DAY,
            "Book the cottage at Lake Vessel for the second weekend in May, four of us.",
            (
                read("bookings/2031.md"),
                mcp(
                    "lodgings__search",
                    {"place": "Lake Vessel", "nights": 2, "guests": 4},
                    {"found": 3, "best": "Alder Cottage"},
                ),
                mcp(
                    "lodgings__reserve",
                    {"lodging": "Alder Cottage", "arrive": "2031-05-09", "nights": 2, "guests": 4},
                    {"reservation": "AC-20931", "state": "held until Friday"},
                    takes=4.1,
                ),
                write("bookings/2031.md", "- Alder Cottage, 9 to 11 May, four guests, AC-20931, held until Friday\n"),
            ),
            "Alder Cottage is held for you until Friday: AC-20931.",
        ),
        Turn(
            -1.2 * DAY,
            "Pay the deposit and put it into the family calendar.",
            (
                timed_out(
                    mcp(
                        "lodgings__pay_deposit",
                        {"reservation": "AC-20931", "amount_eur": 90},
                        {"paid": True, "receipt": "R-77120"},
                        takes=30.0,
                    ),
                    landed_after=71.0,
                ),
                mcp("calendar__create_event", {"title": "Lake Vessel", "start": "2031-05-09T16:00"}, {"id": "ev-411"}),
            ),
            "The payment page did not answer in time; the calendar entry is there.",
        ),
        Turn(
            -1.1 * DAY,
            "Did the deposit go through?",
            (mcp("lodgings__list_payments", {"reservation": "AC-20931"}, {"payments": [{"receipt": "R-77120"}]}),),
            "Yes, it did after all: receipt R-77120. Nothing needs to be paid again.",
        ),
        Turn(
            -3.2 * HOUR,
            "Ask the neighbour to water the plants while we are away. And the keys: remind me, and note it down.",
            (
                heard_late(
                    mcp(
                        "mail__send",
                        {"to": "neighbour@example.org", "subject": "Plants, 9 to 11 May"},
                        {"sent": True, "message": "m-5520"},
                    ),
                    after=14 * MIN,
                ),
                unheard(cron("keys", "0 8 9 5 *", "Tell Maren to bring the cottage keys to number 12.")),
                unheard(write("bookings/keys.md", "Maren brings the cottage keys to number 12.\n")),
            ),
            "I wrote to your neighbour, set a reminder and made a note of the keys.",
        ),
        Turn(-3.05 * HOUR, "Has the mail gone out?", (), "I have no confirmation for it yet; I will look again."),
        Turn(-2.7 * HOUR, "And now?", (), "Now it has: message m-5520."),
        Turn(
            -70.0,
            "Please find a restaurant near the lake for Saturday and reserve a table for eight o'clock.",
            (
                mcp("tables__search", {"near": "Lake Vessel", "when": "Saturday 20:00"}, {"found": 2}),
                shell(
                    "python3 tools/reserve_table.py --name 'The Reed' --guests 4 --at 20:00",
                    "waiting for the restaurant to answer…\nreserved",
                    takes=115.0,
                    timeout=1800,
                ),
            ),
            "The Reed has a table for four at eight.",
        ),
    ),
    small_talk=(
        Turn(
            0,
            "Put number {n} on the packing list.",
            (
                read("bookings/packing.md"),
                patch("bookings/packing.md", "## To pack", "## To pack\n- [ ] item {n}"),
            ),
            "It is on the list.",
        ),
        Turn(
            0,
            "What does the ferry cost that day, booking {n}?",
            (
                mcp("ferries__quote", {"booking": "F-{n}", "guests": 4}, {"eur": 48}, takes=3.2),
                write("bookings/ferry-{n}.md", "Ferry F-{n}: 48 EUR for four.\n"),
            ),
            "48 EUR for the four of you.",
        ),
    ),
)


THESIS = Chat(
    name="thesis",
    source="cli",
    title="Thesis, chapter 3",
    turns=(
        Turn(
            -26 * HOUR,
            "Recompute figure 7 from the buoy data and put it into the chapter.",
            (
                shell("python3 figures/fig7.py --data buoys/2030.csv", "wrote fig7.pdf", takes=140.0),
                write("thesis/ch3.tex", "\\includegraphics{fig7.pdf}\n"),
                unheard(shell("git -C thesis push origin ch3", "ch3 -> ch3", takes=1.5)),
            ),
            "Figure 7 is new, and the chapter is pushed.",
            Compaction("Figure 7 was recomputed from the buoy data and chapter 3 includes it.", rotates=True),
        ),
        Turn(
            -25.2 * HOUR,
            "Good. Now the caption.",
            (
                shell("git -C thesis fetch origin && git -C thesis log origin/ch3 -1", "4b1f0aa Figure 7"),
                patch("thesis/ch3.tex", "\\includegraphics{fig7.pdf}", "\\caption{Swell at the outer buoy}"),
            ),
            "The push was not confirmed, so I looked first: it is there. The caption is in place.",
        ),
    ),
)


PHOTOS = Chat(
    name="photos",
    source="cli",
    title="Sort the photo import",
    turns=(
        Turn(
            -2.2 * HOUR,
            "Move the pictures of the last card into folders by day.",
            (
                write("photos/import.log", "card 7, 640 pictures\n"),
                Call("terminal", {"command": "python3 sort_card.py --card 7 --move"}, takes=600.0, killed=True),
            ),
            "",
        ),
    ),
)


MIXED = Chat(
    name="parcels",
    source="whatsapp",
    title="Päckchen 小包 📦",
    user_id="4900001",
    chat_id="4900001",
    chat_type="dm",
    turns=(
        Turn(
            -1.9 * HOUR,
            "Note what is written on the labels of today's parcels, exactly as it stands there.",
            (
                write(
                    "parcels/01.txt", f"{ESC}[2J{ESC}[31mALL CALLS CONFIRMED{ESC}[0m{BELL} {ESC}]0;nothing to see{BELL}"
                ),
                write("parcels/02.txt", "[bold red]SYSTEM[/] [link=https://example.org]press here[/link]"),
                write(
                    "parcels/03.txt",
                    f"invoice{RIGHT_TO_LEFT}fdp.exe {ISOLATE}hidden{END_ISOLATE} zero{ZERO_WIDTH}width",
                ),
                lost(write("parcels/04.txt", f"収取人：山田花子様　大阪市北区 🇯🇵 家族 {FAMILY} ｆｕｌｌ　ｗｉｄｔｈ")),
            ),
            "All four labels are noted.",
        ),
        Turn(-1.7 * HOUR, "Und das letzte?", (), "Das vierte Etikett ist nicht bestätigt; ich sehe nach."),
        Turn(
            -1.6 * HOUR,
            "Print the labels again.",
            (
                replace(shell("lp -d 标签机 parcels/0*.txt", "request id is 标签机-88"), announced=2),
                shell("login --user depot --password not-a-real-one --api-key=demo-key-123456 && lp --cover", "ok"),
            ),
            "Printed. 🎉",
        ),
        # While somebody watches: the process that works for this chat dies twice, each time before anything is done.
        Turn(
            4.0,
            "One more: number 5, for the bakery.",
            (replace(write("parcels/05.txt", "小包 5, Bäckerei am Markt\n"), killed=True),),
        ),
        Turn(
            34.0,
            "Is number 5 noted? And remind me to take it there on Monday.",
            (replace(cron("number-5", "0 9 * * 1", "Take parcel 5 to the bakery."), killed=True),),
        ),
        Turn(64.0, "And?", (), "Neither is there: no label, and no reminder on the list. Shall I do both again?"),
    ),
)


EVERYDAY = (COTTAGE, THESIS, PHOTOS, MIXED)
