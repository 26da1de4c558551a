"""Card and account numbers: what is found, and what only looks like one. All written down by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ledger.engine.prompts.numbers import is_card, is_iban, luhn

from .judging import blocked

# Test numbers that issuers and banks publish for this purpose


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111",
        "my card is 4111 1111 1111 1111, valid to 12/27",
        "4111-1111-1111-1111",
        "378282246310005",
        "3782 822463 10005",
        "5555555555554444",
        "2223003122003222",
        "6011 1111 1111 1117",
        "3530111333300000",
        "30569309025904",
        '{"card": "4111111111111111"}',
        "order 12345, card 4111 1111 1111 1111 737",
        "4111 1111 1111 1111",
        "４１１１１１１１１１１１１１１１",
        "4111\u200b1111\u200b1111\u200b1111",
        "(4111111111111111)",
    ],
)
def test_card_numbers_are_found(text: str) -> None:
    assert blocked("card-number", text)


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        '{"product_id": 3074185296}',
        '{"product_id": 4111111111111111}',
        "1700000000 1700000000123 1700000000123456 1700000000123456789",
        "git revert 4111111111111111aaaaaaaaaaaaaaaaaaaaaaaa",
        "version 1.2.3.4",
        "550e8400-e29b-41d4-a716-446655440000",
        "4111111111111111.csv",
        "img_4111111111111111",
        "4006381333931",
        "4111 1111 1111",
        "0000 0000 0000 0000",
        "+49 30 901820 4711 4711",
    ],
)
def test_what_only_looks_like_a_card_passes(text: str) -> None:
    assert not blocked("card-number", text)


@pytest.mark.parametrize(
    "text",
    [
        "DE89 3704 0044 0532 0130 00",
        "pay to DE89370400440532013000, please",
        "de89 3704 0044 0532 0130 00 is mine",
        "GB82 WEST 1234 5698 7654 32",
        "NO93 8601 1117 947",
        "FR14 2004 1010 0505 0001 3M02 606",
        "DE89-3704-0044-0532-0130-00",
    ],
)
def test_bank_accounts_are_found(text: str) -> None:
    assert blocked("iban", text)


@pytest.mark.parametrize(
    "text",
    [
        "DE88 3704 0044 0532 0130 00",
        "DE89 3704 0044 0532 0130",
        "DE89370400440532013000X",
        "ZZ89 3704 0044 0532 0130 00",
        "git revert de89370400440532013000aabbccddeeff00112233",
        "AD12 AD12 AD12",
    ],
)
def test_what_only_looks_like_an_account_passes(text: str) -> None:
    assert not blocked("iban", text)


def test_check_digits_by_hand() -> None:
    # 7992739871x: doubled from the right 1 7→14=5 ... the sum is 67, so the digit that fits is 3.
    assert [luhn(f"7992739871{digit}") for digit in range(10)] == [False] * 3 + [True] + [False] * 6
    assert is_iban("DE89370400440532013000")
    assert not is_iban("DE8937040044053201300")
    assert not is_iban("DEAA370400440532013000")


@given(st.text(alphabet="0123456789", min_size=14, max_size=18))
def test_of_ten_last_digits_at_most_one_fits(start: str) -> None:
    assert sum(luhn(start + digit) for digit in "0123456789") == 1
    assert sum(is_card(start + digit) for digit in "0123456789") <= 1
