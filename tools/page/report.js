// Draws a report's page from the data in it. The page's Content-Security-Policy allows this script by its hash, and nothing else.
'use strict';
(() => {
const {kinds, reports, lanes, answers} = JSON.parse(document.getElementById('report').textContent);
const style = (element, name) => getComputedStyle(element).getPropertyValue(name);
const COMPUTING = 7, GUTTER = 38, HEAD = 24, AXIS = 40, LEAST_NS = 20;
const SHOWN_SITES = 12, FIRST_SITES = 8, SHOWN_UNITS = 12, SHOWN_WAITS = 8, SHOWN_PATH_RANKS = 5, MOST_CELLS = 64, MOST_BARS = 160;

// --- Texts ---

function time(ns) {
  if (!(ns > 0)) return '0';
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['us', 1e3]].find(one => ns >= one[1]) ?? ['ns', 1], value = ns / size;
  return `${value.toFixed(value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3)} ${unit}`;
}
function bytes(count) {
  let unit = 0;
  for (; count >= 1024 && unit < 5; ++unit) count /= 1024;
  return `${count.toFixed(Number.isInteger(count) || count >= 100 ? 0 : 1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit]}`;
}
const count = number => String(number).replace(/\B(?=(\d{3})+$)/g, ' ');
const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
function percent(part, whole) {
  let value = whole > 0 ? 100 * part / whole : 0;
  if (part > 0 && part < whole) value = Math.min(99.9, Math.max(0.1, value));
  return `${value.toFixed(1)} %`;
}
function ratio(value, base) {
  if (!(base > 0)) return '';
  const one = value / base;
  return `x${one > 0 && one < 0.1 ? one.toPrecision(2) : one.toFixed(one < 9.995 ? 2 : one < 99.95 ? 1 : 0)}`;
}
const size_class = (least, most) => least === most ? `${least} B` : least < 1024 ? `${least} to ${most} B` : `from ${bytes(least)}`;
const sum = (rows, value) => rows.reduce((all, one) => all + value(one), 0);
const most_of = (rows, value) => rows.reduce((most, one) => Math.max(most, value(one)), 0);
const sorted = (rows, value) => [...rows].sort((a, b) => value(b) - value(a));
const capitals = text => text[0].toUpperCase() + text.slice(1);

// --- Elements ---

/** An element: el('td.text', 'words', child, ...). Attributes are an object behind the name. */
function el(name, ...rest) {
  const [tag, ...classes] = name.split('.'), plain = rest[0]?.constructor === Object;
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(plain ? rest.shift() : {})) element.setAttribute(key, value);
  element.append(...rest.flat(9).filter(one => one != null));
  return element;
}
function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat());
  return element;
}
const about = text => el('p.about', text);
const code = text => el('code', text);
const dot = (colour, text) => [el('span.dot', {style: `background:${colour}`}), text];
const dotted = lane => dot(lane.colour, lane.label);
const folded = (summary, ...content) => el('details', el('summary', summary), ...content);
const more = (all, shown) => all > shown ? about(`and ${count(all - shown)} more`) : null;
const key = (...items) => el('div.key', items.map(one => el('span', one)));

/** heads: names of columns; one that ends in "*" is for words. Cells that are no elements become texts; null is a dash. */
function table(caption, heads, rows) {
  const words = heads.map(head => typeof head === 'string' && head.endsWith('*'));
  const cell = (one, i) => el(words[i] ? 'td.text' : one == null ? 'td.none' : 'td', one ?? '\u2013');
  return el('div.scroll', el('table', el('caption', caption),
    el('thead', el('tr', heads.map((head, i) => el(words[i] ? 'th.text' : 'th', {scope: 'col'}, words[i] ? head.slice(0, -1) : head)))),
    el('tbody', rows.map(row => el('tr', row.map(cell))))));
}

/** A row for each lane. A column with one value for all lanes becomes a line below. columns: [head, text of a lane]. */
function lane_table(caption, all, columns) {
  const cells = columns.map(([head, text]) => [head, all.map(text)]).filter(([, texts]) => texts.some(one => one != null));
  const alike = cells.filter(([, texts]) => all.length > 1 && new Set(texts).size === 1), apart = cells.filter(one => !alike.includes(one));
  return [apart.length ? table(caption, ['hardware', ...apart.map(one => one[0])],
                               all.map((lane, i) => [dotted(lane), ...apart.map(one => one[1][i])])) : null,
          alike.length ? about(`The same for all: ${alike.map(one => `${one[0]} ${one[1][0]}`).join(', ')}.`) : null];
}

/** A bar of parts one after the other: [share, colour, opacity]. */
function track(parts, what, ...marks) {
  return el('span.track', {role: 'img', 'aria-label': what}, parts.filter(one => one[0] > 0).map(([share, colour, opacity]) =>
    el('i', {style: `width:${100 * Math.min(1, share)}%;background:${colour};opacity:${opacity ?? 1}`})), marks);
}
const bar_row = (name, bar, value, note) => [el('span.name', name), bar, el('span.value', value), note == null ? null : el('span.note', note)];
const bars = (...rows) => el('div.bars', rows);
const small_bars = (...rows) => el('div.bars.small', rows);

// --- The first screen ---

/** Times against the baseline's: rows of {name, end, note, colour, free, range}. The longest are cut. */
function chart(rows, baseline, unit) {
  const ends = rows.map(one => one.end).filter(end => end > 0);
  const longest = Math.min(Math.max(...ends, 1), Math.max(baseline, 3 * Math.min(...ends)));
  const at = end => `${(100 * Math.min(1, end / longest)).toFixed(2)}%`;
  const drawn = rows.map(one => {
    const marks = [baseline > 0 ? el('b.one', {style: `left:${at(baseline)}`}) : null];
    if (one.range) marks.push(el('b.range', {style: `left:${at(one.range[0])};right:calc(100% - ${at(one.range[1])})`}));
    const bar = track([[one.end / longest, one.colour]], one.name, marks);
    if (one.end > longest) bar.classList.add('cut');
    if (one.free) bar.classList.add('free');
    const faster = baseline > 0 && one.end > 0 && one.end < 0.9995 * baseline;
    const note = [one.end > 0 ? ratio(one.end, baseline) : '', one.note].filter(Boolean).join(', ');
    return bar_row(one.name, bar, one.end > 0 ? time(one.end) : '', el(faster ? 'span.good' : 'span', note));
  });
  const legend = [`${unit}.`, baseline > 0 ? 'The line is x1.00.' : '', rows.some(one => one.range) ? 'The mark at a bar\u2019s end is the range of the models\u2019 errors.' : '',
                  rows.some(one => one.free) ? 'Hatched bars cost nothing.' : '', Math.max(...ends) > longest ? 'Faded bars are off the scale.' : ''];
  return el('figure.chart', bars(drawn), el('figcaption', legend.filter(Boolean).join(' ')));
}

const lane_named = name => lanes.find(lane => lane.label === name || lane.backend === name);
const baseline = lanes.find(lane => lane.baseline && lane.communication_ns > 0);
const carrying = lanes.filter(lane => lane !== baseline && lane.carries_program);
const end_of = lane => lane.whole_run?.modelled_time_ns ?? lane.modelled_time_ns;
const best = carrying.reduce((least, lane) => !least || end_of(lane) < end_of(least) ? lane : least, null);
const focus = lanes.filter(lane => lane === best || lane === baseline || lanes.length === 1);
const overlaps = lanes.some(lane => Object.keys(lane.calls).some(name => /^MPI_(I[a-z]|Start)/.test(name))) &&
  !reports[0].recordings?.[0]?.file.startsWith('pattern:');

function answer_chart(answer) {
  if (!answer.of_run && overlaps && answer.kind !== 'change')
    return about('No chart: communication alone does not show what this program overlaps with its computing. The replay of a recording does.');
  const is_free = one => one.name.startsWith('host ') && answer.kind !== 'change';
  const rows = answer.bars.map(one => ({...one, end: one.time_ns, free: is_free(one), colour: lane_named(one.name)?.colour ?? 'var(--host)',
    range: answer.latest_ns > 0 && (one.name === answer.candidate || (is_free(one) && one.time_ns === answer.time_ns)) ?
      [answer.earliest_ns, answer.latest_ns] : null}));
  rows.sort((a, b) => (a.end || Infinity) - (b.end || Infinity));
  return chart(rows, answer.baseline_ns, answer.of_run ? 'Time of the run' : 'Longest time in MPI calls of a rank');
}

function lane_chart(all, value, unit) {
  const rows = [...all].sort((a, b) => value(a) - value(b)).map(lane =>
    ({name: lane.label, end: value(lane), colour: lane.colour, note: lane.carries_program ? '' : 'does not carry it'}));
  return chart(rows, baseline ? value(baseline) : 0, unit);
}

/** What costs nothing, the best first, and then all together. */
function do_first(answer) {
  const rows = (answer.free_changes ?? []).map(one =>
    el('li', el('b', one.change), `: ${time(one.end_ns)}, ${ratio(one.end_ns, answer.baseline_ns)}. `, one.how ? code(one.how) : ''));
  return rows.length ? [el('h3', 'Do first: it costs nothing'), el('ol.first', rows)] : null;
}

const parts_of = row => sum(kinds, kind => row[kind.field + '_ns']);
const place_of = site => site.place || site.site || 'an unknown place';
/** Where the program calls MPI: the baseline's time, the best hardware's, and what bounds the former. */
function call_sites() {
  const rows = reports.find(one => one.call_sites.length)?.call_sites, has = field => rows.some(row => row[field] != null);
  if (!rows) return null;
  const columns = [
    ['call', row => code(row.function)], has('place') ? ['place*', row => code(row.place)] : null, ['calls', row => count(row.calls)],
    [baseline?.label ?? 'baseline', row => time(row.baseline_ns)], ['share', row => percent(row.share, 1)], ['bound by*', row => row.bound_by],
    has('hardware_ns') ? [best?.label ?? 'hardware', row => row.hardware_ns == null ? null : time(row.hardware_ns)] : null,
    has('offloaded') ? ['offloaded*', row => row.offloaded] : null].filter(Boolean);
  return [el('h3', 'Where the program spends time in MPI, all ranks together'),
    table('Call sites', columns.map(one => one[0]), rows.slice(0, FIRST_SITES).map(row => columns.map(one => one[1](row)))), more(rows.length, FIRST_SITES)];
}

function first_screen() {
  const parts = answers.map(answer => {
    const all = [answer_chart(answer), do_first(answer)];
    if (answer.routes) {
      const text = el('pre.advice', answer.routes), button = el('button.copy', {type: 'button'}, 'copy');
      button.addEventListener('click', () => copy(button, text));
      all.push(folded('the best mix of hardware, as offramp.toml', button, text));
    }
    if (answer.details) all.push(folded('candidates, reasons, and influences', answer.details.map(text => el('pre.advice', text))));
    return answers.length > 1 ? folded(answer.answer, all) : all;
  });
  return [parts, call_sites()];
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text.textContent);
  } catch {
    getSelection().selectAllChildren(text);
    document.execCommand('copy');
  }
  button.textContent = 'copied';
}

// --- Sections ---

/** The content if any of the rows is there. */
const if_any = (rows, make) => rows.length ? make(rows) : null;
/** One text for all reports, or that of each: "400 / 40". */
function of_each(text) {
  const texts = [...new Set(lanes.map(lane => lane.report))].map(i => lanes.filter(lane => lane.report === i).map(text).find(one => one != null) ?? '-');
  return new Set(texts).size === 1 ? texts[0] : texts.join(' / ');
}
const in_lanes = value => lanes.map(lane => value(lane) == null ? null : time(value(lane)));
const lane_heads = () => lanes.map(lane => el('span', dotted(lane)));
const in_order = (names, value) => sorted([...new Set(names)], value);

function whole_run() {
  const all = lanes.filter(lane => lane.whole_run && reports[lane.report].computing);
  if (!all.length) return null;
  const computing = lane => reports[lane.report].computing, of_all = value => value == null ? null : percent(value, 1);
  return [answers.length === 1 ? null : lane_chart(all, end_of, 'Time of the run'),
    lane_table('Whole run', all, [
      ['run', lane => time(end_of(lane))], ['in MPI calls', lane => of_all(lane.whole_run.share_in_calls)],
      ['efficiency', lane => of_all(lane.efficiencies?.parallel)], ['load balance', lane => of_all(lane.efficiencies?.load_balance)],
      ['serialisation', lane => of_all(lane.efficiencies?.serialisation)], ['transfer', lane => of_all(lane.efficiencies?.transfer)],
      ['lower bound', lane => time(computing(lane).free_run.modelled_time_ns)], ['mean computing', lane => time(computing(lane).mean_ns)]]),
    folded('what the efficiencies are', about('The efficiency is the computing of all ranks over their time. It is the product of load balance (the ' +
      'mean computing of a rank over the largest), serialisation (the largest computing over the lower bound), and transfer (the lower bound over the run).')),
    computing(all[0]).between_questions ? about(`${computing(all[0]).between_questions}.`) : null];
}

function communication() {
  const operations = lane => sum(Object.values(lane.calls), call => call.offloaded + call.declined + call.routed + call.native);
  const shown = reports.some(one => one.computing) || overlaps || (answers.length === 1 && !answers[0].of_run);
  const ends_differ = lanes.some(lane => lane.modelled_time_ns !== lane.communication_ns);
  const faults = lanes.some(lane => lane.given_up > 0 || lane.wire.retransmissions > 0);
  return [shown ? null : lane_chart(lanes, lane => lane.communication_ns, 'Longest time in MPI calls of a rank'),
    lane_table('Communication time', lanes, [
      ['in MPI calls', lane => time(lane.communication_ns)], ...(ends_differ ? [['modelled time', lane => time(lane.modelled_time_ns)]] : []),
      ['operations', lane => count(operations(lane))],
      ['offloaded share', lane => lane.carried_ns == null ? null : percent(lane.carried_ns, lane.carried_ns + lane.routed_ns + lane.declined_ns)],
      ['packets', lane => count(lane.wire.packets)], ['on the wire', lane => bytes(lane.wire.wire_bytes)],
      ...(faults ? [['retransmissions', lane => count(lane.wire.retransmissions)], ['failed', lane => count(lane.given_up)]] : [])]),
    if_any(lanes.filter(lane => lane.stands_on?.text), all => folded('what each of them runs on',
      all.map(lane => about(`${lane.label} runs on ${lane.stands_on.text}.`)))),
    lanes.filter(lane => !lane.carries_program).map(lane => about(`${lane.why_not}.`))];
}

function account_bars(rows, name) {
  const most = most_of(rows, parts_of);
  return bars(rows.filter(row => parts_of(row) > 0).map(row => bar_row(name(row),
    track(kinds.map((kind, i) => [row[kind.field + '_ns'] / most, `var(--k${i})`]), name(row)), time(parts_of(row)), `${count(row.calls)} calls`)));
}
function account_table(lane, what, rows, name) {
  const spread = rows.some(row => row.ranks > 0);
  return table(`Where the time goes: ${lane.label}, by ${what}${spread ? '; min, mean, and max by rank' : ''}`,
    [what, 'calls', 'time', ...(spread ? ['ranks', 'min', 'mean', 'max'] : []), ...kinds.map(kind => kind.head)],
    rows.map(row => [code(name(row)), count(row.calls), time(parts_of(row)),
                     ...(spread ? [count(row.ranks), time(row.least_ns), time(row.mean_ns), time(row.most_ns)] : []),
                     ...kinds.map(kind => time(row[kind.field + '_ns']))]));
}
function accounts_of(lane) {
  const {functions, sizes, phases, sites, waits} = lane.accounts;
  const groups = [['function', functions, row => row.function, ''],
    ['size', sizes, row => row.has_size ? size_class(row.min_bytes, row.max_bytes) : 'without operations',
     'The size of the call\u2019s operation, or of the largest of several.'],
    ['phase', phases, row => row.phase || 'outside of phases', 'A call belongs to the phase that began last.'],
    ['place', sites.slice(0, SHOWN_SITES), row => `${row.function}, ${place_of(row)}`, 'The places with the most time.']]
    .filter(([what, rows]) => what === 'function' || rows.length > 1);
  return [el('h3', dotted(lane)), el('p', lane.accounts_text), account_bars(functions, row => row.function),
    folded('by size, phase, and place, as tables, and who waits for whom',
      groups.slice(1).map(([what, rows, name, text]) => [el('h4', `By ${what}`), about(text), account_bars(rows, name)]),
      groups.map(([what, rows, name]) => account_table(lane, what, rows, name)), more(sites.length, SHOWN_SITES),
      table(`Where the time goes: ${lane.label}, who waits for whom`, ['rank', 'waits for rank', 'total'],
            waits.slice(0, SHOWN_WAITS).map(one => [one.rank, one.peer, time(one.waited_ns)])), more(waits.length, SHOWN_WAITS))];
}
function accounts() {
  const all = lanes.filter(lane => lane.accounts);
  return if_any(all, () => [key(...kinds.map((kind, i) => [...dot(`var(--k${i})`, ''), el('b', kind.head), ` ${kind.what}`])),
    all.filter(lane => focus.includes(lane)).map(accounts_of),
    all.filter(lane => !focus.includes(lane)).map(lane => folded(lane.label, accounts_of(lane)))]);
}

function calls() {
  const modelled = (lane, name) => lane.calls[name]?.modelled_ns;
  const names = in_order(lanes.flatMap(lane => Object.keys(lane.calls)), name => most_of(lanes, lane => modelled(lane, name) ?? 0));
  return table('Calls', ['call', 'calls', 'bytes', ...lane_heads()], names.map(name => [code(name),
    of_each(lane => lane.calls[name] && count(lane.calls[name].count)), of_each(lane => lane.calls[name] && bytes(lane.calls[name].bytes)),
    ...in_lanes(lane => modelled(lane, name))]));
}

function phases() {
  const of = (lane, name) => lane.phases.find(one => one.name === name);
  return if_any([...new Set(lanes.flatMap(lane => lane.phases.map(one => one.name)))], names => table('Phases', ['phase', 'times', ...lane_heads()],
    names.map(name => [name, of_each(lane => of(lane, name) && count(of(lane, name).count)), ...in_lanes(lane => of(lane, name)?.longest_ns)])));
}

function sizes() {
  const of = (lane, least) => lane.sizes.filter(one => one.min_bytes === least);
  const classes = new Map(lanes.flatMap(lane => lane.sizes.map(one => [one.min_bytes, one.max_bytes])));
  return if_any([...classes].sort((a, b) => a[0] - b[0]), all => table('Time by message size', ['size', 'operations', ...lane_heads()],
    all.map(([least, most]) => [size_class(least, most),
      of_each(lane => of(lane, least).length ? count(sum(of(lane, least), one => one.count)) : null),
      ...in_lanes(lane => of(lane, least).length ? sum(of(lane, least), one => one.modelled_ns) : null)])));
}

function matrix(traffic, ranks) {
  const group = Math.ceil(ranks / MOST_CELLS), cells = Math.ceil(ranks / group), side = 10 * cells, margin = side / 7, found = new Map();
  for (const one of traffic) {
    const place = Math.floor(one.source / group) * cells + Math.floor(one.destination / group);
    found.set(place, (found.get(place) ?? 0) + one.bytes);
  }
  const most = Math.max(1, ...found.values()), texts = [];
  const text = (x, y, words, more_attributes) => texts.push(svg('text', {x, y, ...more_attributes}, String(words)));
  text(side / 2, -margin * 0.62, 'to rank');
  text(0, 0, 'from rank', {transform: `translate(${-margin * 0.62} ${side / 2}) rotate(-90)`});
  for (let cell = 0; cell < cells; cell += Math.ceil(cells / 8)) {
    text(cell * 10 + 5, -margin * 0.2, cell * group);
    text(-margin * 0.2, cell * 10 + 5 + side / 78, cell * group);
  }
  return [svg('svg', {class: 'matrix', viewBox: `${-margin} ${-margin} ${side + margin} ${side + margin}`, 'font-size': side / 26, role: 'img',
                      'aria-label': 'bytes from each rank to each other'},
    svg('rect', {width: side, height: side, fill: 'currentColor', opacity: 0.05}), svg('g', {fill: 'currentColor', 'text-anchor': 'middle'}, texts),
    [...found].map(([place, moved]) => svg('rect', {x: place % cells * 10, y: Math.floor(place / cells) * 10, width: 10, height: 10, fill: 'var(--l0)',
      opacity: (0.15 + 0.85 * moved / most).toFixed(2)}, svg('title', {}, `${Math.floor(place / cells) * group} to ${place % cells * group}: ${bytes(moved)}`)))),
    about(`The darkest cell: ${bytes(most)}${group > 1 ? `, of groups of ${counted(group, 'rank')}` : ''}; lighter ones have less, in proportion.`)];
}
function traffic() {
  const all = reports.map((report, i) => [report, lanes.find(lane => lane.report === i && lane.accounts?.traffic.length)]).filter(one => one[1]);
  return if_any(all, () => all.map(([report, lane]) => matrix(lane.accounts.traffic, report.ranks)));
}

function balance() {
  const card = lane => {
    const {ranks} = lane, longest = most_of(ranks, one => one), group = Math.ceil(ranks.length / MOST_BARS), groups = Math.ceil(ranks.length / group);
    const height = i => 100 * most_of(ranks.slice(i * group, (i + 1) * group), one => one) / longest;
    return el('div.card', el('h3', dotted(lane)), svg('svg', {class: 'ranks', viewBox: `0 0 ${Math.max(groups, 8) * 10} 100`, preserveAspectRatio: 'none',
                                                            role: 'img', 'aria-label': 'time of each rank'},
      Array.from({length: groups}, (_, i) => svg('rect', {x: i * 10, y: 100 - height(i), width: 8.6, height: height(i), fill: lane.colour}))),
      el('p', `longest ${time(longest)}, mean ${time(mean(lane))}: the mean is ${percent(mean(lane), longest)} of the longest`));
  };
  const mean = lane => sum(lane.ranks, one => one) / lane.ranks.length, known = lanes.filter(lane => lane.ranks.length);
  const even = known.filter(lane => mean(lane) >= 0.95 * most_of(lane.ranks, one => one));
  return [el('div.cards', known.filter(lane => !even.includes(lane)).map(card)),
          even.length ? about(`Even, the mean above 95 % of the longest: ${even.map(lane => lane.label).join(', ')}.`) : null];
}

function offloaded() {
  const of = (lane, field) => sum(Object.values(lane.calls), call => call[field]);
  const rows = lanes.map(lane => {
    const [own, declined] = [of(lane, 'offloaded'), of(lane, 'declined')], all = own + declined + of(lane, 'routed') + of(lane, 'native');
    return bar_row(lane.label, track([[own / Math.max(1, all), lane.colour], [declined / Math.max(1, all), lane.colour, 0.35]], lane.label),
                   percent(own, all), `${count(own)} of ${count(all)}`);
  });
  return [key([el('b', 'full colour'), ' carried by the hardware'], [el('b', 'lighter'), ' declined, carried by the host'], [el('b', 'empty'), ' native']),
    bars(rows), if_any(lanes.flatMap(lane => lane.declines.map(one => [dotted(lane), count(one.count), one.operation, one.reason])),
      all => table('Offloaded operations: declines', ['hardware', 'times', 'operation*', 'why it was declined*'], all))];
}

function units() {
  const card = lane => {
    const all = sorted(lane.units, one => one.in_use_ns), most = all[0].in_use_ns;
    return el('div.card', el('h3', dotted(lane)), small_bars(all.slice(0, SHOWN_UNITS).map(one => bar_row(one.unit,
      track([[most > 0 ? one.in_use_ns / most : 0, lane.colour]], one.unit), percent(Math.min(one.in_use_ns, lane.run_ns), lane.run_ns)))),
      all.length > SHOWN_UNITS ? el('p', `and ${all.length - SHOWN_UNITS} less busy units`) : null);
  };
  return if_any(lanes.filter(lane => lane.units.length), all => el('div.cards', all.map(card)));
}

function paths() {
  const card = lane => {
    const path = lane.critical_path, all = Math.max(0.001, path.on_ranks_ns + path.in_messages_ns), step = path.longest[0];
    const ranks = sorted(path.by_rank_ns.map((ns, rank) => ({ns, rank})).filter(one => one.ns > 0), one => one.ns);
    return el('div.card', el('h3', dotted(lane)), small_bars(
      bar_row('all', track([[path.on_ranks_ns / all, lane.colour], [path.in_messages_ns / all, lane.colour, 0.45]], 'on ranks and in messages'), time(all)),
      ranks.slice(0, SHOWN_PATH_RANKS).map(one => bar_row(`rank ${one.rank}`, track([[one.ns / all, lane.colour]], 'time on this rank'), percent(one.ns, all)))),
      more(ranks.length, SHOWN_PATH_RANKS),
      el('p', `${counted(path.messages, 'message')} of other ranks ${path.messages === 1 ? 'was' : 'were'} waited for, one after the other: ` +
        `${percent(path.in_messages_ns, all)} of the path.${path.shared_links_ns > 0 ? ` Waiting for shared links: ${percent(path.shared_links_ns, all)} of it.` : ''}` +
        (step ? ` The longest: ${bytes(step.bytes)} from rank ${step.source} to rank ${step.destination}, ${time(step.end_ns - step.begin_ns)}.` : '')));
  };
  return if_any(lanes.filter(lane => lane.critical_path), all => el('div.cards', all.map(card)));
}

const jobs = () => if_any(lanes.filter(lane => lane.jobs?.length), all => all.map(lane => [el('h3', dotted(lane)),
  table(`Programs at the same time: ${lane.label}`, ['program', 'ranks', 'nodes', 'modelled time', 'alone', 'slowdown'], lane.jobs.map(job => [
    job.program, job.ranks > 1 ? `${job.first_rank}-${job.first_rank + job.ranks - 1}` : job.first_rank, job.nodes, time(job.modelled_time_ns),
    time(job.alone_ns), ratio(job.modelled_time_ns, job.alone_ns)])), (lane.job_texts ?? []).map(text => about(`${text}.`))]));

const stragglers = () => if_any(lanes.filter(lane => lane.stragglers), all => all.map(lane => el('p', dotted(lane), `: ${lane.stragglers_text}.`)));

const links = () => if_any(lanes.filter(lane => lane.link_count), all => all.map(lane => [el('h3', dotted(lane)),
  el('p', `${counted(lane.link_count, 'link')} used; messages waited ${time(lane.links_waited_ns)} in total for other messages.`),
  table(`The network between the nodes: ${lane.label}`, ['link', 'busy', 'share of the run', 'bytes', 'waiting', 'longest wait'], lane.links.map(link => [
    link.link, time(link.busy_ns), percent(link.busy_ns, lane.modelled_time_ns), bytes(link.bytes), time(link.waited_ns), time(link.longest_wait_ns)])),
  more(lane.link_count, lane.links.length)]));

const places = () => if_any(reports.filter(one => one.places.length), all => all.map(report => [el('h3', report.file),
  table(`Calls that depend on arrival order: ${report.file}`, ['times', 'call*', 'communicator*', 'in the program*'],
        report.places.map(one => [count(one.times), one.call, one.communicator, code(one.site)]))]));

const certificates = () => if_any(lanes.filter(lane => lane.certificate), () =>
  table('Certificate', ['hardware', 'certificate*', 'data alone*', 'arrival-order decisions'], lanes.map(lane => [dotted(lane), code(lane.certificate ?? ''),
    code(reports[lane.report].data_certificate), count(reports[lane.report].arrival_order_dependences)])));

function settings() {
  const rows = (report, defaults) => Object.entries(report.settings ?? {}).filter(([, one]) => (one.source === 'default') === defaults)
    .map(([name, one]) => [code(name), one.value || null, ...(defaults ? [] : [one.source])]);
  return if_any(reports.filter(one => one.settings), all => all.map(report => [el('h3', report.file),
    table(`Settings: ${report.file}`, ['setting', 'value', 'from*'], rows(report, false)),
    folded(`${rows(report, true).length} at their defaults`, table(`Settings: ${report.file}, at their defaults`, ['setting', 'value'], rows(report, true)))]));
}

// --- The timeline ---

function timelines() {
  const drawn = reports.map((_, i) => lanes.filter(lane => lane.report === i && lane.accounts?.timeline)).filter(all => all.length);
  return if_any(drawn, () => drawn.map(timeline_of));
}

function timeline_of(all) {
  const notes = all.flatMap(lane => {
    const {slices, drawn, shortest_ns, is_whole, drawn_ranks} = lane.accounts.timeline, {ranks} = reports[lane.report];
    return [shortest_ns > 0 ? `${count(slices)} slices drawn as ${count(drawn)}; those below ${time(shortest_ns)} are joined with their neighbours.` : '',
            is_whole ? '' : 'the last calls are missing, because the memory for them did not suffice.',
            drawn_ranks < ranks ? `ranks ${drawn_ranks} to ${ranks - 1} are not drawn.` : ''].filter(Boolean).map(text => `${lane.label}: ${text} `);
  });
  const button = (value, text, label) => el('button', {type: 'button', value, ...(label ? {'aria-label': label} : {})}, text);
  const figure = el('figure.timeline',
    el('div.key', [...kinds.map(kind => kind.head), 'computing'].map((name, i) => el('span', {'data-kind': name}, dot(`var(--k${i})`, name)))),
    el('div.tools', button(2, '+', 'zoom in'), button(0.5, '\u2212', 'zoom out'), button(0, 'whole run'), el('output')),
    el('canvas', {tabindex: 0, role: 'application', 'aria-label': 'Timeline of the ranks. Plus and minus zoom, 0 shows the whole run, left and right ' +
      'move, up and down choose a rank, comma and full stop a slice.'}),
    el('p.readout', {'aria-live': 'polite'}, 'Drag to move. After a click, the wheel zooms; keys: + \u2212 0, arrows, comma and full stop.'),
    el('figcaption', notes, code('offramp replay --trace FILE'), ' writes every span for ui.perfetto.dev.'));
  draw_timeline(figure, all);
  return figure;
}

/** Slices of a rank, as the report has them: begin and length in ns. */
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

function draw_timeline(figure, shown) {
  const find = selector => figure.querySelector(selector);
  const canvas = find('canvas'), context = canvas.getContext('2d'), readout = find('.readout'), range = find('output');
  const keys = [...figure.querySelectorAll('[data-kind]')], names = keys.map(one => one.dataset.kind);
  const lanes = shown.map(({label, accounts: {timeline}}) => ({name: label, end: timeline.end_ns, top: 0,
                                                               rows: timeline.ranks.map(row => slices(row, timeline.functions))}));
  const end = Math.max(LEAST_NS, ...lanes.map(lane => lane.end));
  const rows = sum(lanes, lane => lane.rows.length);
  const row_height = Math.max(5, Math.min(16, Math.floor(420 / Math.max(1, rows))));
  const height = lanes.length * HEAD + rows * row_height + AXIS;
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
    const colours = keys.map(one => style(one.firstElementChild, 'background-color'));
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
    const all = lanes.flatMap(lane => lane.rows.map((row, rank) => ({lane, row, rank}))).filter(one => one.row.length);
    if (!all.length) return;
    const now = chosen ? all.findIndex(one => one.row.includes(chosen.slice)) : 0;
    const {lane, row, rank} = all[Math.min(all.length - 1, Math.max(0, now + (chosen ? rows_on : 0)))];
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
    const actions = {'+': () => zoom(2), '=': () => zoom(2), '-': () => zoom(0.5), '0': () => show(0, end),
                     ArrowLeft: () => show(from - quarter, to - from), ArrowRight: () => show(from + quarter, to - from),
                     ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1), ',': () => walk(-1, 0), '.': () => walk(1, 0)};
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  });
  for (const button of figure.querySelectorAll('button'))
    button.addEventListener('click', () => Number(button.value) ? zoom(Number(button.value)) : show(0, end));
  new ResizeObserver(() => { if (canvas.clientWidth !== width) draw(); }).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
}


// --- The page ---

const SECTIONS = [
  ['Whole run', 'The run with the program\u2019s computing, as recorded. Time in MPI calls includes the waiting for ranks that still compute. The lower ' +
    'bound is the run with communication that takes no time. The mean computing is that of a rank.', whole_run],
  ['Timeline', 'What each rank spends modelled time on. One row for each rank; point at a slice for details.', timelines],
  ['Communication time', 'The longest modelled time that any rank spends in MPI calls, with communication alone. The baseline is a NIC without offload.',
    communication],
  ['Where the time goes', 'How the time in MPI calls is spent, all ranks together. Each moment of a call belongs to one kind, so the kinds of a function ' +
    'add up to its time.', accounts],
  ['Calls', 'Modelled time in each MPI function, of all ranks together, with communication alone.', calls],
  ['Who sends to whom', 'Bytes of point-to-point messages, without collectives: from the rank of the row to the rank of the column.', traffic],
  ['Phases', 'Parts of the program named with MPI_Pcontrol: the longest time of any rank.', phases],
  ['Time by message size', 'Time of the operations in each size class, all ranks together: sends, receives, and collectives (by the size of the message, ' +
    'or of one rank\u2019s block).', sizes],
  ['Balance between ranks', 'Time in MPI calls of each rank, with rank 0 on the left. It includes waiting for other ranks.', balance],
  ['Offloaded operations', 'The model of a plain host carries the operations that the hardware declines. Native operations stay with the MPI library and ' +
    'cost no modelled time.', offloaded],
  ['Where the hardware is busy', 'The share of the run in which each unit is busy, over all ranks, with one operation or several.', units],
  ['Programs at the same time', 'The time of each program together with the others, and alone on the same nodes.', jobs],
  ['Stragglers', 'The cost of interrupted processors and slow nodes, compared with the same run without them.', stragglers],
  ['The network between the nodes', 'The busiest links, and the delay of messages by other messages on the same link.', links],
  ['Critical path', 'The chain of work and messages that ends with the last rank. Only a gain on this path makes the run shorter. Full colour: on ranks and ' +
    'their hardware; lighter: waiting for a message of another rank, from the beginning of its send.', paths],
  ['Calls that depend on arrival order', 'Calls that receive from any source, complete one of several requests, or poll. Modelled time may differ from run to ' +
    'run with their outcome. addr2line finds the line of an address in a program with debugging information.', places],
  ['Certificate', 'A hash over every call of every rank: its arguments, its data, and its end in modelled time. It is the same on every run, unless the ' +
    'program depends on arrival order.', certificates],
  ['Settings', 'The settings of the run and their origin: the defaults, a line of a file, a variable, or an option.', settings]];

document.getElementById('first').append(...[first_screen()].flat(9).filter(Boolean));
for (const [title, text, make] of SECTIONS) {
  const content = make();
  if (content) document.getElementById('details').append(el('details.section', el('summary', el('h2', title)), about(text), content));
}
})();
