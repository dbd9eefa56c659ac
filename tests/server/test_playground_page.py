"""The playground in real headless Chromium, against a server in a process of its own.

Chromium is the Debian package ``chromium``; playwright-python drives it. Screenshots stay in the tests' ``tmp_path``.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import wave
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.browser

DEMO = Path(str(resources.files("omniclef"))) / "demo"
EXAMPLES = json.loads((resources.files("omniclef.server.playground") / "examples.json").read_text("utf-8"))
TICKET, MESSAGE, PHOTO, ORDER, CLIP = range(5)
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of ``omniclef serve`` with nano, in a process of its own. It writes to a file, which is never full."""
    told = tmp_path_factory.mktemp("server") / "output.txt"
    command = [sys.executable, "-m", "omniclef.cli", "serve", "--port", "0"]
    with told.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        address = None
        while address is None and process.poll() is None:
            time.sleep(0.1)
            address = re.search(r"http://(127\.0\.0\.1|localhost):\d+", told.read_text("utf-8"))
        assert address, told.read_text("utf-8")
        yield address[0]
        process.terminate()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program, "install the Debian package chromium"
    flags = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, server: str) -> Iterator[Any]:
    """The page, open and ready. Whatever it complains of in the console fails the test."""
    context = chromium.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write", "microphone"], origin=server)
    complaints: list[str] = []
    elsewhere: list[str] = []
    opened = watched(context.new_page(), complaints)
    opened.on("request", lambda request: elsewhere.append(request.url) if foreign(request.url, server) else None)
    opened.goto(f"{server}/")
    opened.wait_for_selector("html[data-ready]")
    yield opened
    context.close()
    assert complaints == []
    assert elsewhere == []


def watched(page: Any, complaints: list[str]) -> Any:
    def listen(message: Any) -> None:
        # Chromium reports every refusal of the API too; those are what some tests are about.
        if message.type in ("error", "warning") and "the server responded with a status of 4" not in message.text:
            complaints.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page


def foreign(url: str, server: str) -> bool:
    return urlsplit(url).scheme not in ("data", "blob") and not url.startswith(f"{server}/")


def choose(page: Any, example: int) -> None:
    page.click("#examples > summary")
    page.click(f"#example-list li:nth-child({example + 1}) button")
    page.wait_for_selector('#status:has-text("Example")')


def decide(page: Any) -> None:
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#answers[aria-busy=false]")


def answered(page: Any, example: int) -> None:
    choose(page, example)
    decide(page)
    page.wait_for_selector(".cards")


def settled(page: Any) -> None:
    """Pictures, sounds and clips are there, so that a screenshot shows them."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)


def picture(page: Any, folder: Path, name: str) -> np.ndarray:
    """A screenshot of the whole page, kept as a file: [h, w, 3]."""
    width = page.viewport_size["width"]
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": width, "height": height})  # as a full-page shot would draw a sticky bar midway
    shot = page.screenshot(path=folder / f"{name}.png")
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))


def checked(page: Any, folder: Path, name: str, dark: bool = False) -> None:
    """Drawn, in its theme, no wider than the window, and legible."""
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth"), name
    assert page.evaluate(OVERFLOWING) == []
    pixels = picture(page, folder, name)
    paper = np.array([0x15, 0x18, 0x1B] if dark else [0xFB, 0xFA, 0xF7])
    blank = (np.abs(pixels.astype(int) - paper).max(axis=-1) <= 2).mean()
    assert 0.3 < blank < 0.97, (name, blank)
    inked = (np.abs(pixels.astype(int) - paper).max(axis=-1) > 120).mean()
    assert inked > 0.01, (name, inked)
    assert page.evaluate(PALE) == []


OVERFLOWING = """() => [...document.querySelectorAll('body *')]
    .filter(node => node.getClientRects().length && !node.closest('pre'))
    .filter(node => getComputedStyle(node).position !== 'absolute')
    .filter(node => node.getBoundingClientRect().right > innerWidth + 0.5 || node.getBoundingClientRect().left < -0.5)
    .map(node => node.tagName + '.' + node.className)"""

# Texts whose contrast with what is behind them is below 4.5, or 3 for large ones (WCAG 2.2, 1.4.3).
PALE = """() => {
  const read = (text) => {
    const numbers = text.match(/[\\d.]+(?:e-?\\d+)?/g).map(Number);
    const unit = text.startsWith('color(') ? 255 : 1;
    return { rgb: numbers.slice(0, 3).map(n => n * unit), alpha: numbers[3] ?? 1 };
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map(n => n / 255).map(n => n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const over = (top, under) => top.rgb.map((n, i) => n * top.alpha + under[i] * (1 - top.alpha));
  const behind = (node) => {
    if (!node) return [255, 255, 255];
    const own = read(getComputedStyle(node).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, behind(node.parentElement));
  };
  const pale = [];
  const judge = (node, text, colour) => {
    const style = getComputedStyle(node);
    const under = behind(node);
    const pair = [light(over(read(colour), under)), light(under)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < (large ? 3 : 4.5)) pale.push(`${contrast.toFixed(2)} ${node.tagName} ${text.slice(0, 40)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !node.getClientRects().length || node.closest('.hidden, :disabled, noscript, option')) continue;
    judge(node, text, getComputedStyle(node).color);
  }
  for (const field of document.querySelectorAll('input[type=text], input[type=password], textarea, select')) {
    if (!field.getClientRects().length) continue;
    const shows = field.value || !field.placeholder;
    judge(field, field.value || field.placeholder, getComputedStyle(field, shows ? null : '::placeholder').color);
  }
  return pale;
}"""


@pytest.mark.parametrize("size", [DESK, {"width": 768, "height": 1024}, PHONE], ids=["desk", "tablet", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", ["empty", "answered", "picture", "time", "error", "code"])
def test_every_state_looks_right(page: Any, tmp_path: Path, size: dict[str, int], theme: str, state: str) -> None:
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=theme)
    if state in ("answered", "code"):
        answered(page, TICKET)
    elif state == "picture":
        answered(page, PHOTO)
    elif state == "time":
        answered(page, CLIP)
    elif state == "error":
        decide(page)
        page.wait_for_selector(".refused")
    if state == "code":
        page.click("#use > summary")
        page.wait_for_selector('#code:has-text("curl")')
    checked(page, tmp_path, f"{state}-{theme}-{size['width']}", dark=theme == "dark")


def test_the_toggle_outlives_the_page_and_the_system_rules_without_it(page: Any) -> None:
    page.wait_for_selector("html[data-theme=light]")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    page.click("#theme")
    page.wait_for_selector("html[data-theme=light]")
    page.reload()
    page.wait_for_selector("html[data-ready][data-theme=light]")
    assert page.get_attribute("#theme", "aria-pressed") == "false"


def test_answers_are_those_of_the_api(page: Any) -> None:
    with page.expect_response("**/v1/systemone") as waiting:
        answered(page, TICKET)
    body = waiting.value.json()
    sent = json.loads(waiting.value.request.post_data)
    assert sent["state"] == EXAMPLES[TICKET]["state"]
    assert sent["questions"] == EXAMPLES[TICKET]["questions"]
    assert page.locator(".card h3").all_inner_texts() == list(body["answers"])
    shares = [float(text.split()[0]) for text in page.locator(".card:first-child .bar .share").all_inner_texts()]
    assert shares == pytest.approx([100 * p for p in body["answers"]["team"]["probabilities"].values()], abs=0.06)
    assert f"{body['answers']['team']['confidence']:.2f}" in page.inner_text(".card:first-child .sure")
    figures = page.inner_text(".figures")
    assert str(body["usage"]["input_tokens"]) in figures
    assert re.search(r"[\d.]+ ms", figures)
    assert "3 answers" in page.inner_text("#status")
    assert page.get_attribute("#status", "aria-live") == "polite"


def test_evidence_is_drawn_where_the_api_says(page: Any) -> None:
    with page.expect_response("**/v1/systemone") as waiting:
        answered(page, MESSAGE)
    pieces = waiting.value.json()["x_evidence"]["spam"]["true"]
    assert sorted(page.locator("mark").all_inner_texts()) == sorted(piece["text"] for piece in pieces)
    page.click('.card:nth-child(2) .bar:has-text("fraud")')
    pieces = waiting.value.json()["x_evidence"]["kind"]["fraud"]
    assert sorted(page.locator(".card:nth-child(2) mark").all_inner_texts()) == sorted(p["text"] for p in pieces)

    with page.expect_response("**/v1/systemone") as waiting:
        answered(page, PHOTO)
    left, top, right, bottom = waiting.value.json()["x_evidence"]["subject"]["oranges"][0]["span"]
    whole, box = page.locator(".picture img").bounding_box(), page.locator(".box").first.bounding_box()
    assert (box["x"] - whole["x"]) / whole["width"] == pytest.approx(left, abs=0.01)
    assert (box["y"] - whole["y"]) / whole["height"] == pytest.approx(top, abs=0.01)
    assert box["width"] / whole["width"] == pytest.approx(right - left, abs=0.01)
    assert box["height"] / whole["height"] == pytest.approx(bottom - top, abs=0.01)

    with page.expect_response("**/v1/systemone") as waiting:
        answered(page, ORDER)
    settled(page)
    with wave.open(str(DEMO / "order.wav")) as sound:
        seconds = sound.getnframes() / sound.getframerate()
    pieces = waiting.value.json()["x_evidence"]["drink"]["cappuccino"]
    line = page.locator(".line").bounding_box()
    for place, piece in enumerate(pieces):
        mark = page.locator(".range").nth(place).bounding_box()
        assert (mark["x"] - line["x"]) / line["width"] == pytest.approx(piece["span"][0] / seconds, abs=0.01)


def test_evidence_in_a_json_state_is_found_in_its_fields(page: Any) -> None:
    with page.expect_response("**/v1/systemone") as waiting:
        answered(page, TICKET)
    state = EXAMPLES[TICKET]["state"]
    for field in state:
        pieces = waiting.value.json()["x_evidence"]["team"]["billing"]
        spans = sorted(p["span"] for p in pieces if p["path"] == f"/{field}")
        shown = page.locator(".leaves > div", has=page.locator(f'dt:text-is("{field}")')).locator("dd").first
        starts = shown.evaluate("""node => [...node.childNodes].reduce(({ at, marks }, one) => (
            { at: at + one.textContent.length, marks: one.nodeName === 'MARK' ? [...marks, at] : marks }
        ), { at: 0, marks: [] }).marks""")
        assert starts == [from_ for from_, _ in spans]


def test_characters_beyond_the_basic_plane_do_not_shift_marks(page: Any) -> None:
    page.fill("#state", "\U0001f600\U0001f600\U0001f600 I want my money back, the second charge is wrong.")
    page.fill("#questions textarea", "Is it about money?")
    with page.expect_response("**/v1/systemone") as waiting:
        decide(page)
    pieces = waiting.value.json()["x_evidence"]["q1"]["true"]
    assert sorted(page.locator("mark").all_inner_texts()) == sorted(piece["text"] for piece in pieces)


def test_a_whole_round_with_the_keyboard_alone(page: Any, tmp_path: Path) -> None:
    press, focused = page.keyboard.press, "document.activeElement.id"

    def tab_to(wanted: str, back: bool = False) -> None:
        for _ in range(60):
            press("Shift+Tab" if back else "Tab")
            outline = page.evaluate("getComputedStyle(document.activeElement.closest('.switch label')?.lastElementChild"
                                    " ?? document.activeElement).outlineStyle")  # fmt: skip
            assert outline != "none", page.evaluate("document.activeElement.outerHTML")
            if page.evaluate(f"document.activeElement.matches({wanted!r})"):
                return
        pytest.fail(f"{wanted} cannot be reached")

    tab_to(".skip")
    tab_to("#state")
    page.keyboard.type("I was charged twice and want my money back.")
    tab_to("#questions textarea")
    page.keyboard.type("Does the customer want a refund?")
    tab_to("[data-add=choice]")
    press("Enter")
    assert re.fullmatch(r"q\d+-instructions", page.evaluate(focused))
    page.keyboard.type("Which team?")
    for option in ("billing", "shipping"):
        tab_to("#questions li:nth-child(2) .option input:placeholder-shown[placeholder^=option]")
        page.keyboard.type(option)
    press("Control+Enter")
    page.wait_for_selector(".card:nth-child(2)")
    assert page.inner_text(".card:nth-child(2) .answer strong") == "billing"
    tab_to(".card:nth-child(2) .bar")
    press("Enter")
    assert page.is_visible(".card:nth-child(2) .evidence")
    press("Enter")
    assert not page.is_visible(".card:nth-child(2) .evidence")
    tab_to("#questions li:nth-child(2) [aria-label^='Move q2 up']", back=True)
    press("Enter")
    assert page.evaluate(focused).endswith("-down")
    assert page.locator(".question-head input").evaluate_all("all => all.map(one => one.value)") == ["q2", "q1"]
    assert page.evaluate("document.getElementById('answers').classList.contains('old')")


def test_errors_are_shown_where_they_belong(page: Any) -> None:
    choose(page, TICKET)
    page.fill("#state", '{"subject": }')
    decide(page)
    assert "line 1, column 13" in page.inner_text("[data-place=state] .problem")
    assert page.evaluate("document.activeElement.id") == "state"
    page.fill("#state", '{"subject": "a"}')
    page.fill(".level input >> nth=1", "")
    decide(page)
    assert page.locator(".level:nth-child(2) .problem").count() == 1

    choose(page, MESSAGE)
    page.check("input[name=editing][value=json]", force=True)
    page.fill("#questions-json", '{"q": {"type": "score", "criteria": [1, "two"]}}')
    decide(page)
    assert "Refused (422)" in page.inner_text(".refused")
    assert page.locator("[data-place=questions] .problem").count() >= 1
    page.fill("#questions-json", '{"q": {"type": "riddle"}}')
    decide(page)
    assert "Refused (400)" in page.inner_text(".refused")
    assert page.inner_text(".refused li") != ""


def test_a_schema_error_of_the_api_stands_beside_its_option(page: Any) -> None:
    choose(page, TICKET)
    issue = {"type": "string_type", "loc": ["body", "questions", "team", "choice", "criteria", "shipping", "str"]}
    answer = json.dumps({"detail": [{**issue, "msg": "Input should be a valid string"}]})
    page.route("**/v1/systemone", lambda route: route.fulfill(status=422, body=answer))
    decide(page)
    assert "Input should be a valid string" in page.inner_text(".option:nth-child(3) .problem")
    assert page.evaluate("document.activeElement.value") == "shipping"
    page.unroute("**/v1/systemone")
    decide(page)
    page.wait_for_selector(".cards")
    assert page.locator(".problem").count() == 0


def test_a_medium_that_cannot_be_read_is_named(page: Any) -> None:
    files = [
        {"name": "good.jpg", "mimeType": "image/jpeg", "buffer": (DEMO / "photo.jpg").read_bytes()},
        {"name": "bad.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n broken"},
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"text"},
    ]
    page.set_input_files("#files", files)
    page.wait_for_selector('#status:has-text("notes.txt")')
    assert page.locator("#media li").count() == 2
    page.fill("#questions textarea", "Is there fruit?")
    decide(page)
    assert page.locator("#media li:nth-child(2) .problem").count() == 1
    page.click('[aria-label="Remove bad.png"]')
    decide(page)
    page.wait_for_selector(".cards")
    assert page.inner_text(".answer strong") == "yes"


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_files_that_are_dropped_or_pasted_are_taken(page: Any, way: str) -> None:
    data = base64.b64encode((DEMO / "photo.jpg").read_bytes()).decode()
    page.evaluate(
        """([data, way]) => {
            const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
            const given = new DataTransfer();
            given.items.add(new File([bytes], 'photo.jpg', { type: 'image/jpeg' }));
            const event = way === 'drop'
              ? new DragEvent('drop', { dataTransfer: given, bubbles: true, cancelable: true })
              : new ClipboardEvent('paste', { clipboardData: given, bubbles: true, cancelable: true });
            document.body.dispatchEvent(event);
        }""",
        [data, way],
    )
    page.wait_for_selector('#media .name:has-text("photo.jpg")')


def test_a_recording_is_16_khz_mono_and_is_heard(page: Any) -> None:
    page.click("#record")
    page.wait_for_selector("#record.recording")
    page.wait_for_timeout(1500)
    page.click("#record")
    page.wait_for_selector('#media .name:has-text("recording-1.wav")')
    page.fill("#questions textarea", "Is there a beep?")
    with page.expect_response("**/v1/systemone") as waiting:
        decide(page)
    assert waiting.value.status == 200
    (url,) = json.loads(waiting.value.request.post_data)["audio"]
    assert url.startswith("data:audio/wav;base64,")
    with wave.open(io.BytesIO(base64.b64decode(url.split(",")[1]))) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16000, 1, 2)
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)
    assert 1 < len(samples) / 16000 < 5
    assert np.abs(samples).max() > 1000  # Chromium's stand-in for a microphone beeps


def test_a_link_carries_state_and_questions_as_they_are(page: Any, server: str) -> None:
    choose(page, MESSAGE)
    page.check("input[name=editing][value=json]", force=True)
    text = '{"10": {"type": "choice", "criteria": {"9": null, "1": {"b": 1.0, "a": "é\U0001f600"}}}}'
    page.fill("#questions-json", text)
    page.check("input[name=editing][value=form]", force=True)
    page.click("#share")
    page.wait_for_selector('#status:has-text("The link was copied")')
    address = page.evaluate("navigator.clipboard.readText()")
    other = page.context.new_page()
    other.goto(address)
    other.wait_for_selector('#status:has-text("Opened from a link")')
    assert other.input_value("#state") == EXAMPLES[MESSAGE]["state"]
    with other.expect_request("**/v1/systemone") as waiting:
        other.keyboard.press("Control+Enter")
    sent = waiting.value.post_data
    assert '"questions":{"10":{"type":"choice","criteria":{"9":null,"1":{"b":1.0,"a":"é\U0001f600"}}}}' in sent
    other.goto(f"{server}/#1.bm90aGluZw")
    other.wait_for_selector('#status:has-text("damaged")')


def test_json_is_read_as_python_reads_it(page: Any) -> None:
    rng = random.Random(7)

    def value(depth: int) -> Any:
        kind = rng.randrange(8 if depth else 6)
        if kind == 6:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 7:
            keys = ["10", "2", "a", "__proto__", "constructor", "\u00e9\U0001f600", '"\\\n', ""]
            return {key: value(depth - 1) for key in rng.sample(keys, rng.randrange(5))}
        return [None, True, False, rng.choice(["", "two\u2028lines", "\ud83d"]), rng.randrange(-9, 10**20), 1.5e-9][
            kind
        ]

    texts = [json.dumps(value(4), indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5) for _ in range(300)]
    texts = [text for text in texts if text.encode("utf-8", "ignore").decode() == text]
    read = "async (texts) => { const { parse, write } = await import('/playground/json.js'); return texts.map(READ); }"
    for indent in ("", ", 2"):
        again = page.evaluate(read.replace("READ", f"text => write(parse(text){indent})"), texts)
        pairs = [[json.loads(text, object_pairs_hook=list) for text in side] for side in (texts, again)]
        assert pairs[0] == pairs[1]
    broken = [text[: rng.randrange(len(text))] + rng.choice(["", ",", "}", "]", "x", '"']) for text in texts]
    broken = [text for text in broken if not reads(text)] + [
        "01",
        "1.",
        "+1",
        "NaN",
        "'a'",
        "[1,]",
        '{"a":1,}',
        '"\t"',
        "\ufeff1",
    ]
    tried = "text => { try { parse(text); return text; } catch (error) { return error.name; } }"
    assert set(page.evaluate(read.replace("READ", tried), broken)) == {"SyntaxError"}
    twice = page.evaluate(read.replace("READ", tried.replace("error.name", "error.message")), ['{"a": 1,\n "a": 2}'])
    assert twice == ['line 2, column 2: "a" is there twice']


def reads(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def test_the_form_keeps_to_json_what_it_cannot_show(page: Any) -> None:
    page.check("input[name=editing][value=json]", force=True)
    page.fill("#questions-json", '{"q": {"type": "noul", "instructions": "So?", "x_more": 1}}')
    page.click("input[name=editing][value=form]", force=True)
    assert "x_more" in page.inner_text("[data-place=questions] .problem")
    assert page.is_visible("#questions-json")
    page.fill("#questions-json", '{"q": {"type": "noul", "instructions": "So?"}}')
    page.check("input[name=editing][value=form]", force=True)
    assert page.input_value(".question-head input") == "q"


def test_code_asks_the_same(page: Any, tmp_path: Path) -> None:
    state = 'It\'s "quoted": $HOME `ls` \\n\nand a second line'
    page.set_input_files("#files", DEMO / "photo.jpg")
    page.wait_for_selector("#media li")
    page.fill("#state", state)
    page.fill("#questions textarea", "Is there fruit in the picture?")
    with page.expect_response("**/v1/systemone") as waiting:
        decide(page)
    sent = json.loads(waiting.value.request.post_data)
    page.click("#use > summary")

    def copied(language: str) -> str:
        page.check(f"input[name=language][value={language}]", force=True)
        page.click("#copy")
        page.wait_for_selector('#status:text-is("Copied.")')
        return str(page.evaluate("navigator.clipboard.readText()"))

    assert json.loads(copied("json")) == sent
    shutil.copy(DEMO / "photo.jpg", tmp_path)
    told = subprocess.run(["bash", "-c", copied("curl")], cwd=tmp_path, capture_output=True, check=True).stdout
    assert json.loads(told)["answers"] == waiting.value.json()["answers"]
    tree = ast.parse(copied("python"))
    (call,) = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "system_one")
    given = {one.arg: one.value for one in call.keywords}
    assert ast.literal_eval(given["state"]) == state
    assert ast.literal_eval(given["questions"]) == sent["questions"]


def test_a_key_is_sent_and_leaves_with_the_tab(page: Any) -> None:
    page.fill("#key", "a-secret")
    page.press("#key", "Tab")
    choose(page, MESSAGE)
    with page.expect_request("**/v1/systemone") as waiting:
        decide(page)
    assert waiting.value.headers["authorization"] == "Bearer a-secret"
    assert page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href").count("a-secret") == 0
    assert page.evaluate("sessionStorage.getItem('api-key')") == "a-secret"
    page.click("#use > summary")
    page.wait_for_selector('#code:has-text("$OMNICLEF_API_KEY")')
    assert "a-secret" not in page.inner_text("#code")


def test_a_server_that_wants_a_key_or_is_gone_is_told_of(page: Any) -> None:
    choose(page, MESSAGE)
    detail = {"error_type": "authentication_error", "message": "Must supply an API key!"}
    page.route("**/v1/systemone", lambda route: route.fulfill(status=403, body=json.dumps({"detail": detail})))
    decide(page)
    assert "Must supply an API key!" in page.inner_text("[data-place=key] .problem")
    assert page.evaluate("document.activeElement.id") == "key"
    page.unroute("**/v1/systemone")
    busy = {"error_type": "rate_limit_error", "message": "The queue is full."}
    page.route(
        "**/v1/systemone",
        lambda route: route.fulfill(status=429, headers={"retry-after": "3"}, body=json.dumps({"detail": busy})),
    )
    decide(page)
    assert "wait 3 s" in page.inner_text(".refused")


def test_undo_brings_back_what_an_example_replaced(page: Any) -> None:
    page.fill("#state", "my own words")
    choose(page, PHOTO)
    assert page.locator("#media li").count() == 1
    page.click("#status button")
    assert page.input_value("#state") == "my own words"
    assert page.locator("#media li").count() == 0
