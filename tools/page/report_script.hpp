// The script of a report's page draws timelines and copies texts. It reads the page alone, and the page's
// Content-Security-Policy allows it by its hash.
#pragma once

namespace offramp::tool {

inline constexpr const char* kReportScript = R"js(
'use strict';
(() => {
const COMPUTING = 7, GUTTER = 38, HEAD = 24, AXIS = 40, LEAST_NS = 20;
const style = (element, name) => getComputedStyle(element).getPropertyValue(name);

function time(ns) {
  if (ns <= 0) return '0';
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['us', 1e3]].find(one => ns >= one[1]) ?? ['ns', 1];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}
function bytes(count) {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(count || 1) / 10)));
  return `${Number((count / 1024 ** power).toPrecision(3))} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}

/** Slices of a rank, as ReportTimeline::ranks has them: begin and length in ns. */
function slices(text, functions) {
  let at = 0;
  const all = [];
  for (const word of text.split(' ')) {
    const [head, name, size, many] = word.split(',');
    const kind = Number(head[0]), length = parseInt(head.slice(1), 36);
    if (!(kind <= COMPUTING && length >= 0)) continue;
    all.push({kind, at, length, name: functions[name] ?? '', bytes: parseInt(size || 0, 36), joined: parseInt(many || 1, 36)});
    at += length;
  }
  return all;
}

/** Axis steps of 1, 2, or 5 times a power of ten. */
function step(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(factor => factor * power).find(one => one >= least);
}

function draw_timeline(figure) {
  const find = selector => figure.querySelector(selector);
  const canvas = find('canvas'), context = canvas.getContext('2d'), readout = find('.readout'), range = find('output');
  const kinds = [...figure.querySelectorAll('[data-kind]')];
  const names = kinds.map(one => one.dataset.kind);
  const lanes = [...figure.querySelectorAll('[data-lane]')].map(one => {
    const functions = one.dataset.functions.split('\n');
    return {name: one.dataset.lane, end: Number(one.dataset.end), top: 0,
            rows: [...one.children].map(row => slices(row.dataset.row, functions))};
  });
  const end = Math.max(LEAST_NS, ...lanes.map(lane => lane.end));
  const count = lanes.reduce((sum, lane) => sum + lane.rows.length, 0);
  const row_height = Math.max(5, Math.min(16, Math.floor(420 / Math.max(1, count))));
  const height = lanes.length * HEAD + count * row_height + AXIS;
  let from = 0, to = end, width = 1, chosen = null, drag = null, focused = false;

  const scale = () => (width - GUTTER) / (to - from);
  const rank_step = Math.max(1, Math.ceil(11 / row_height));

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    width = Math.max(GUTTER + 50, canvas.clientWidth);
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '12px system-ui, sans-serif';
    const colours = kinds.map(one => style(one.firstElementChild, 'background-color'));
    const text = style(canvas, 'color'), line = style(figure, '--line');
    const x = ns => GUTTER + (ns - from) * scale();
    const unit = [['s', 1e9], ['ms', 1e6], ['us', 1e3]].find(one => to >= one[1]) ?? ['ns', 1];
    const every = step((to - from) / Math.max(2, (width - GUTTER) / 90));
    const digits = Math.max(0, Math.ceil(-Math.log10(every / unit[1]) - 1e-9));
    context.textAlign = 'center';
    for (let tick = Math.ceil(from / every) * every; tick <= to; tick += every) {
      context.fillStyle = line;
      context.fillRect(x(tick), 0, 1, height - AXIS + 4);
      context.fillStyle = text;
      const label = (tick / unit[1]).toFixed(digits), half = context.measureText(label).width / 2;
      context.fillText(label, Math.min(Math.max(x(tick), GUTTER), width - half), height - AXIS + 17);
    }
    context.fillText(`modelled time in ${unit[0]}`, (GUTTER + width) / 2, height - 6);
    let y = 0;
    for (const lane of lanes) {
      context.fillStyle = text;
      context.textAlign = 'left';
      context.fillText('rank', 0, y + HEAD - 6);
      context.fillText(`${lane.name}: ends at ${time(lane.end)}`, GUTTER, y + HEAD - 6);
      lane.top = y += HEAD;
      context.textAlign = 'right';
      lane.rows.forEach((row, rank) => {
        context.fillStyle = text;
        if (rank % rank_step === 0) context.fillText(rank, GUTTER - 6, y + row_height / 2 + 4);
        for (let i = first_after(row, from); i < row.length && row[i].at < to; ++i) {
          const left = Math.max(GUTTER, x(row[i].at)), right = Math.min(width, x(row[i].at + row[i].length));
          context.fillStyle = colours[row[i].kind];
          context.fillRect(left, y, Math.max(0.5, right - left), row_height - 1);
          if (chosen?.slice !== row[i]) continue;
          context.strokeStyle = text;
          context.lineWidth = 2;
          context.strokeRect(left, y, Math.max(2, right - left), row_height - 1);
        }
        y += row_height;
      });
    }
    range.textContent = `${time(from)} to ${time(to)}`;
  }

  /** The first slice that ends after a moment. */
  function first_after(row, ns) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle].at + row[middle].length <= ns) low = middle + 1; else high = middle;
    }
    return low;
  }

  function show(begin, length) {
    const span = Math.min(end, Math.max(LEAST_NS, length));
    from = Math.min(Math.max(0, begin), end - span);
    to = from + span;
    draw();
  }
  function zoom(factor, around = (from + to) / 2) {
    const span = Math.min(end, Math.max(LEAST_NS, (to - from) / factor));
    show(around - span * (around - from) / (to - from), span);
  }

  function choose(lane, rank, slice) {
    chosen = slice ? {lane, rank, slice} : null;
    if (slice) {
      const what = slice.kind === COMPUTING && slice.joined === 1 ? names[COMPUTING] :
        slice.joined > 1 ? `${slice.joined} short slices, mostly ${names[slice.kind]}${slice.name && ', the longest in ' + slice.name}` :
        `${slice.name}, ${names[slice.kind]}${slice.bytes ? ', ' + bytes(slice.bytes) : ''}`;
      readout.textContent = `${lane.name}, rank ${rank}: ${what}; begins at ${time(slice.at)}, takes ${time(slice.length)}`;
    }
    draw();
  }
  function choose_at(event) {
    const box = canvas.getBoundingClientRect(), y = event.clientY - box.top, ns = from + (event.clientX - box.left - GUTTER) / scale();
    for (const lane of lanes) {
      const rank = Math.floor((y - lane.top) / row_height), row = lane.rows[rank], slice = row && row[first_after(row, ns)];
      if (slice && slice.at <= ns && ns >= from && slice !== chosen?.slice) return choose(lane, rank, slice);
    }
  }
  /** The next slice of the rank, or that of another rank at the same time. */
  function walk(slices_on, rows_on) {
    const rows = lanes.flatMap(lane => lane.rows.map((row, rank) => ({lane, row, rank}))).filter(one => one.row.length);
    if (!rows.length) return;
    const now = chosen ? rows.findIndex(one => one.row.includes(chosen.slice)) : 0;
    const {lane, row, rank} = rows[Math.min(rows.length - 1, Math.max(0, now + (chosen ? rows_on : 0)))];
    const middle = chosen ? chosen.slice.at + chosen.slice.length / 2 : (from + to) / 2;
    const index = chosen && !rows_on ? row.indexOf(chosen.slice) + slices_on : first_after(row, middle);
    const slice = row[Math.min(row.length - 1, Math.max(0, index))];
    if (slice.at + slice.length <= from || slice.at >= to) show(slice.at - (to - from) / 4, to - from);
    choose(lane, rank, slice);
  }

  canvas.addEventListener('wheel', event => {
    if (!focused && !event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : 0.8, from + (event.clientX - canvas.getBoundingClientRect().left - GUTTER) / scale());
  }, {passive: false});
  canvas.addEventListener('pointerdown', event => {
    drag = {x: event.clientX, from};
    canvas.setPointerCapture(event.pointerId);
    choose_at(event);
  });
  canvas.addEventListener('pointermove', event => {
    if (drag) show(drag.from - (event.clientX - drag.x) / scale(), to - from); else choose_at(event);
  });
  for (const over of ['pointerup', 'pointercancel']) canvas.addEventListener(over, () => { drag = null; });
  for (const change of ['focus', 'blur']) canvas.addEventListener(change, () => { focused = change === 'focus'; });
  canvas.addEventListener('keydown', event => {
    const quarter = (to - from) / 4;
    const keys = {'+': () => zoom(2), '=': () => zoom(2), '-': () => zoom(0.5), '0': () => show(0, end),
                  ArrowLeft: () => show(from - quarter, to - from), ArrowRight: () => show(from + quarter, to - from),
                  ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1), ',': () => walk(-1, 0), '.': () => walk(1, 0)};
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const button of figure.querySelectorAll('button'))
    button.addEventListener('click', () => Number(button.value) ? zoom(Number(button.value)) : show(0, end));
  find('.tools').hidden = false;
  new ResizeObserver(() => { if (canvas.clientWidth !== width) draw(); }).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
}

document.querySelectorAll('figure.timeline').forEach(draw_timeline);

for (const button of document.querySelectorAll('button.copy')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const text = button.nextElementSibling;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      document.execCommand('copy');
    }
    button.textContent = 'copied';
  });
}
})();
)js";
/// The SHA-256 of the script, in base 64, as the page's policy has it. If the script changes, the failing
/// test of pages prints the new value.
inline constexpr const char* kReportScriptHash = "sha256-m9cu1vs83bdmAiYsgK3p0XCv9AZhNAzVCN6zqWYnGpc=";

}  // namespace offramp::tool
