// The look of a report's page. No fonts and no images from elsewhere.
#pragma once

namespace offramp::tool {

inline constexpr const char* kReportStyle = R"(
:root {
  color-scheme: light dark;
  --bg: #ffffff; --fg: #1c2128; --muted: #59636e; --line: #dfe3e8; --card: #f6f7f9; --good: #0a7a4b;
  --warn-bg: #fff6e0; --warn-line: #e0a100; --host: #8b949e;
  --l0: #0072b2; --l1: #d55e00; --l2: #009e73; --l3: #b5548f; --l4: #b98500; --l5: #3a9bd9; --l6: #7a5cc4;
  --k0: #0072b2; --k1: #e69f00; --k2: #d55e00; --k3: #cc79a7; --k4: #a4262c; --k5: #7a5cc4; --k6: #56b4e9;
  --k7: #d3d9df; --shadow: rgba(0, 0, 0, .28);
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #12161b; --fg: #e4e8ed; --muted: #98a3af; --line: #2b323a; --card: #1a1f26; --good: #4fce93;
    --warn-bg: #2e2712; --warn-line: #c99a1c; --host: #7d8793;
    --l0: #4aa8e0; --l1: #f0893a; --l2: #35c79a; --l3: #dd8cbf; --l4: #e3b341; --l5: #7cc4f2; --l6: #a996e8;
    --k0: #2f8fd0; --k1: #f0b13a; --k2: #ef7a35; --k3: #dd8cbf; --k4: #d9484f; --k5: #a996e8; --k6: #8fd0f5;
    --k7: #3d4650; --shadow: rgba(255, 255, 255, .3);
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
.headline { font-size: 27px; line-height: 1.25; font-weight: 650; margin: 6px 0 14px; text-wrap: balance; }
h2 { font-size: 18px; margin: 44px 0 4px; }
h3 { font-size: 14px; margin: 0 0 8px; }
h4 { font-size: 13.5px; margin: 14px 0 0; }
p.about, figcaption { color: var(--muted); margin: 0 0 14px; max-width: 75ch; }
figcaption { font-size: 13.5px; }
.runs { margin: 0; padding: 0; list-style: none; color: var(--muted); font-size: 13.5px; }
code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.runs code { color: var(--fg); }
.answer { display: grid; grid-template-columns: max-content 1fr; gap: 4px 14px; margin: 14px 0; }
.answer dt { color: var(--muted); }
.answer dd { margin: 0; overflow-wrap: anywhere; }
.warnings { margin: 18px 0 0; padding: 10px 16px; background: var(--warn-bg); border-left: 4px solid
  var(--warn-line); border-radius: 4px; }
.warnings ul { margin: 0; padding-left: 18px; }
.warnings li + li { margin-top: 4px; }
.bars { display: grid; grid-template-columns: max-content 1fr max-content fit-content(40%); gap: 7px 14px;
  align-items: center; margin: 18px 0; font-variant-numeric: tabular-nums; }
.bars > * { min-width: 0; }
.bars .name { font-weight: 600; overflow-wrap: anywhere; }
.bars .value, .bars .note { text-align: right; }
.bars .value { white-space: nowrap; }
.bars .note { color: var(--muted); }
.bars .good { color: var(--good); font-weight: 600; }
.bars svg { display: block; width: 100%; height: 18px; }
.bars .cut { mask-image: linear-gradient(to left, transparent, #000 60px); }
.bars.small { margin: 0; gap: 4px 10px; font-size: 13px; grid-template-columns: minmax(0, max-content) 1fr
  max-content; }
.bars.small .name { font-weight: 400; }
.bars.small svg { height: 10px; }
.scroll { overflow-x: auto; margin: 12px 0; position: relative; }
.scroll, pre.advice { --ground: var(--bg); background-color: var(--ground); background-repeat: no-repeat;
  background-image: linear-gradient(to right, var(--ground) 30%, transparent),
    linear-gradient(to left, var(--ground) 30%, transparent), linear-gradient(to right, var(--shadow), transparent),
    linear-gradient(to left, var(--shadow), transparent);
  background-position: left, right, left, right; background-size: 36px 100%, 36px 100%, 14px 100%, 14px 100%;
  background-attachment: local, local, scroll, scroll; }
.scroll > svg { display: block; min-width: 560px; width: 100%; max-width: 900px; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 12px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
th { font-weight: 600; color: var(--muted); vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.text { text-align: left; white-space: normal; min-width: 18ch; }
th.text, td.word { text-align: left; }
td.good { color: var(--good); font-weight: 600; }
td.none { color: var(--muted); }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 7px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(270px, 1fr)); gap: 14px; margin: 14px 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px;
  min-width: 0; }
.card svg.ranks { display: block; width: 100%; height: 64px; }
pre.advice { --ground: var(--card); overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 14px; font-size: 12.5px; }
svg.matrix { display: block; width: min(100%, 380px); height: auto; margin: 12px 0; }
.timeline { margin: 12px 0; }
.timeline canvas { display: block; width: 100%; cursor: grab; touch-action: pan-y; }
.timeline canvas:focus-visible, button:focus-visible { outline: 2px solid var(--l0); outline-offset: 2px; }
.timeline .readout { min-height: 3em; margin: 8px 0 0; font-size: 13.5px; font-variant-numeric: tabular-nums; }
.timeline .key { gap: 2px 14px; }
.tools { margin: 0 0 6px; }
.tools output { color: var(--muted); font-size: 13px; margin-left: 8px; }
button { font: inherit; font-size: 13.5px; color: var(--fg); background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 12px; margin: 0 6px 6px 0; cursor: pointer; }
.card p { margin: 8px 0 0; font-size: 13px; color: var(--muted); }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--muted); margin: 0 0 10px; }
details { margin: 10px 0; }
details + h3, figure + figure { margin-top: 22px; }
summary { cursor: pointer; color: var(--muted); font-size: 13.5px; }
footer { margin-top: 48px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--muted);
  font-size: 13px; }
@media (max-width: 640px) {
  main { padding: 20px 14px 40px; }
  .headline { font-size: 22px; }
  .bars:not(.small) { grid-template-columns: 1fr max-content fit-content(45%); gap: 2px 10px; }
  .bars:not(.small) .track { grid-column: 1 / -1; grid-row: auto; order: 0; margin-bottom: 8px; }
  .bars:not(.small) { grid-auto-flow: row dense; }
  .bars .note { white-space: normal; max-width: 22ch; }
}
@media print {
  :root { --bg: #fff; --fg: #000; --muted: #444; --line: #ccc; --card: #fff; --good: #0a7a4b;
    --warn-bg: #fff; --warn-line: #888; --host: #8b949e; --l0: #0072b2; --l1: #d55e00; --l2: #009e73;
    --l3: #b5548f; --l4: #b98500; --l5: #3a9bd9; --l6: #7a5cc4; color-scheme: light; }
  body { font-size: 11px; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; margin-top: 26px; }
  table { font-size: 10px; }
  th, td { padding: 3px 6px; white-space: normal; }
  .scroll { overflow: visible; }
  .tools, .readout, button { display: none; }
  .scroll > svg { min-width: 0; max-width: 620px; }
  tr, .card, .bars, .warnings, .scroll > svg { break-inside: avoid; }
}
)";

}  // namespace offramp::tool
