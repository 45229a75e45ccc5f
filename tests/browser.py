"""Checks pages and pictures in a browser, and searches them for infinities and NaNs."""

import html
import json
import re
import shutil
import subprocess
import tempfile

FIGURES_OF_NOTHING = re.compile(r"(?<![\w./-])[-+]?(?:inf(?:inity)?|nan)(?![\w./-])", re.IGNORECASE)


def figures_of_nothing(text):
    """Infinities and NaNs in a page or picture, with a few characters around each."""
    return [text[max(0, found.start() - 60):found.end() + 30] for found in FIGURES_OF_NOTHING.finditer(text)]


def command_of(profile):
    """Headless Chromium, or None if it is not installed."""
    path = shutil.which("chromium")
    return path and [path, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]


def look_at(page):
    """The browser's complaints about a file, and what it shows as HTML, without scripts and their data. None without a browser."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = command_of(profile)
        if command is None:
            return None
        done = subprocess.run([*command, "--enable-logging=stderr", "--dump-dom", f"file://{page}"], capture_output=True, text=True,
                              timeout=90, check=False, errors="replace")
    if done.returncode != 0 or not re.search(r"<(html|svg)", done.stdout):
        return [f"the browser shows nothing: {done.stderr[-1000:]}"], ""
    return [line for line in done.stderr.splitlines() if ":CONSOLE" in line], re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S)


def console_of(page):
    """The browser's complaints about a file, or None without a browser."""
    seen = look_at(page)
    return seen and seen[0]


def section_of(shown, title):
    """A section of a page, as look_at() returns it. Empty if there is none."""
    return next((part for part in shown.split('<details class="section">')[1:] if part.startswith(f"<summary><h2>{title}</h2>")), "")


# Measures a page in a frame of each width, with everything opened that can be opened.
MEASURE = """
const shown = element => element.getClientRects().length > 0 && getComputedStyle(element).visibility === 'visible';
function rgba(text) {
  const numbers = text.match(/[\\d.]+/g).map(Number);
  return {r: numbers[0], g: numbers[1], b: numbers[2], a: numbers.length > 3 ? numbers[3] : 1};
}
const over = (top, below) => ({r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
                               b: top.b * top.a + below.b * (1 - top.a), a: 1});
function ground(element, view) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(rgba(view.getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, top) => over(top, below), view.matchMedia('(prefers-color-scheme: dark)').matches ?
                                 {r: 18, g: 18, b: 18, a: 1} : {r: 255, g: 255, b: 255, a: 1});
}
function luminance(colour) {
  const part = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(colour.r) + 0.7152 * part(colour.g) + 0.0722 * part(colour.b);
}
function measured(frame, width) {
  const document = frame.contentDocument, view = frame.contentWindow, found = {width, texts: 0, tables: 0, problems: []};
  document.querySelectorAll('details').forEach(one => one.open = true);
  if (document.documentElement.scrollWidth > view.innerWidth)
    found.problems.push(`at ${width} px the page is ${document.documentElement.scrollWidth} px wide: ` +
      [...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > view.innerWidth && !one.closest('.scroll, pre'))
        .slice(0, 3).map(one => one.outerHTML.slice(0, 120)).join(' | '));
  const seen = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join('');
    if (!text || !shown(element) || element.closest('title, style, caption')) continue;
    ++found.texts;
    const style = view.getComputedStyle(element), below = ground(element, view);
    const top = rgba(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    for (let at = element; at; at = at.parentElement) top.a *= Number(view.getComputedStyle(at).opacity);
    const [more, less] = [luminance(over(top, below)), luminance(below)].sort((a, b) => b - a);
    const contrast = (more + 0.05) / (less + 0.05), what = `${element.tagName}.${element.className.baseVal ?? element.className}`;
    if (contrast < 4.5 && !seen.has(what)) {
      seen.add(what);
      found.problems.push(`contrast ${contrast.toFixed(2)} of ${what}: ${text.slice(0, 40)}`);
    }
  }
  for (const element of document.querySelectorAll('.scroll, pre, .bars, dl, code, canvas, figure')) {
    if (!shown(element) || element.scrollWidth <= element.clientWidth + 1 || view.getComputedStyle(element).display === 'inline') continue;
    if (!view.getComputedStyle(element).backgroundImage.includes('gradient'))
      found.problems.push(`at ${width} px cut without a hint: ${element.outerHTML.slice(0, 120)}`);
  }
  for (const table of document.querySelectorAll('table')) {
    ++found.tables;
    if (!table.caption || !table.caption.textContent.trim()) found.problems.push(`no caption: ${table.outerHTML.slice(0, 120)}`);
    if ([...table.querySelectorAll('thead th')].some(head => !head.scope) || !table.querySelector('thead th'))
      found.problems.push(`heads without scope: ${table.outerHTML.slice(0, 120)}`);
  }
  return found;
}
"""


# The range of the axis, the readout, and the number of colours of a timeline, at first and after keys and buttons.
PLAY = """
function played(frame, width) {
  const document = frame.contentDocument, canvas = document.querySelector('figure.timeline canvas');
  document.querySelectorAll('details').forEach(one => one.open = true);
  const found = {width, canvas: canvas.clientWidth, steps: {}};
  const note = name => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 255) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    found.steps[name] = {range: document.querySelector('output').textContent, colours: colours.size,
                         readout: document.querySelector('.readout').textContent};
  };
  const press = key => canvas.dispatchEvent(new frame.contentWindow.KeyboardEvent('keydown', {key, cancelable: true}));
  const box = canvas.getBoundingClientRect();
  const point = (type, x, y) => canvas.dispatchEvent(new frame.contentWindow.PointerEvent(type, {clientX: box.left + x, clientY: box.top + y}));
  canvas.setPointerCapture = () => {};
  press('0'), note('begin');
  press('+'), press('+'); note('zoomed');
  press('ArrowRight'); note('moved');
  point('pointerdown', 200, 40), point('pointermove', 100, 40), point('pointerup', 100, 40); note('dragged');
  document.querySelector('.tools button[value="0"]').click(); note('whole');
  canvas.focus();
  canvas.dispatchEvent(new frame.contentWindow.WheelEvent('wheel', {deltaY: -1, ctrlKey: true, clientX: box.left + 200, cancelable: true}));
  note('wheel');
  press('0'), press('.'), press('.'); note('slice');
  press('ArrowDown'); note('below');
  return found;
}
"""


def plays_of(page, widths, dark=False):
    """Uses a page's first timeline in a browser at each width in pixels: a dict as in PLAY. None without a browser."""
    return in_frames(page, widths, dark, PLAY, "played")


def measures_of(page, widths, dark=False):
    """Measures a page in a browser at each width in pixels: a dict with the counts of texts and tables, and with problems. None without
    a browser."""
    return in_frames(page, widths, dark, MEASURE, "measured")


def in_frames(page, widths, dark, script, function):
    """Shows a page in a frame of each width, and returns the results of the script's function for it."""
    with open(page, encoding="utf-8") as file:
        text = json.dumps(file.read()).replace("</", "<\\/")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = command_of(profile)
        if command is None:
            return None
        harness = f"{profile}/harness.html"
        with open(harness, "w", encoding="utf-8") as file:
            file.write(f"""<!doctype html><meta charset="utf-8"><pre id="result"></pre><script>{script}
const results = [];
for (const width of {json.dumps(list(widths))}) {{
  const frame = document.createElement('iframe');
  frame.style = `border: 0; width: ${{width}}px; height: 900px`;
  frame.onload = () => {{
    results.push({function}(frame, width));
    document.getElementById('result').textContent = JSON.stringify(results);
  }};
  frame.srcdoc = {text};
  document.body.append(frame);
}}
</script>""")
        mode = ["--blink-settings=preferredColorScheme=0"] if dark else []
        done = subprocess.run([*command, *mode, "--dump-dom", f"file://{harness}"], capture_output=True, text=True, timeout=90, check=False,
                              errors="replace")
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.S)
    measured = json.loads(html.unescape(found[1]) or "[]") if found else []
    return sorted(measured, key=lambda one: one["width"])
