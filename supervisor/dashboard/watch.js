// The page for the people on watch: asks every two seconds which sinks have changed, and then for what shows them.
// It polls, since sinks commit once a second at most and an answer without news is a few hundred bytes; so no connection
// is held open, and a server that comes back is found without more ado. Whatever comes from data is set as text.
"use strict";

const PERIOD = 2000, PATIENCE = 20000, STALE = 120000, BOARD_EVERY = 8;
const program = decodeURIComponent(location.pathname.split("/")[2]);
const base = "/programs/" + encodeURIComponent(program);
const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = { panels: [], versions: new Map(), board: "", misses: 0, lastSeen: null, rounds: 0 };

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value; else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const kept = new Map(); // what has come, for as long as the page is open: the browser writes none of it to disk

async function ask(path, kind = "json") {
  const before = kept.get(path), headers = before ? { "If-None-Match": before.tag } : {};
  const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status === 304) return before.content;
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(problem.message || answer.statusText), { status: answer.status });
  }
  const content = await (kind === "json" ? answer.json() : answer.blob()), tag = answer.headers.get("ETag");
  if (kept.size > 200) kept.clear(); // charts of many widths
  if (tag) kept.set(path, { tag, content });
  return content;
}

// ------------------------------------------------------------------------------------------------ values as text

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 3, useGrouping: false }); // ports have no commas
const counts = { format: (value) => (Math.abs(value) < 100000 ? plain : grouped).format(value) };
const MOMENT = /^-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function clock(text) {
  const day = text.slice(0, 10), time = text.slice(11, 19);
  return day === new Date().toISOString().slice(0, 10) ? time : day + " " + time;
}

function quantity(value, unit) {
  if (typeof value !== "number") return shown(value);
  if (unit === "percent") return counts.format(value) + " %";
  if (unit === "seconds") return value < 1 && value > 0 ? Math.round(value * 1000) + " ms" : counts.format(value) + " s";
  const steps = ["", "k", "M", "G", "T", "P"];
  let size = Math.abs(value), step = 0;
  while (size >= 999.5 && step < steps.length - 1) { size /= 1000; step += 1; }
  const digits = size >= 100 || Number.isInteger(size) ? size.toFixed(0) : size.toPrecision(3);
  const word = unit === "bytes" ? steps[step] + "B" : [steps[step], unit].filter(Boolean).join(" ");
  return (value < 0 ? "-" : "") + digits + (word ? " " + word : "");
}

function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return counts.format(value);
  if (typeof value === "string") return MOMENT.test(value) ? clock(value) : harmless(value);
  return JSON.stringify(value);
}

function harmless(text) { // marks that hide text or turn its direction
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "\ufffd");
}

function ago(moment) {
  const seconds = Math.max(0, Math.round((Date.now() - moment) / 1000));
  if (seconds < 90) return seconds + " s ago";
  return seconds < 5400 ? Math.round(seconds / 60) + " min ago" : Math.round(seconds / 3600) + " h ago";
}

function moment(text) { return Date.parse(text.slice(0, 23) + "Z"); }

// ------------------------------------------------------------------------------------------------ panels

const KINDS = { number: showNumber, state: showState, table: showTable, story: showStories,
                line: showChart, bar: showChart, share: showChart, graph: showChart };

function build(board) {
  document.title = board.title + " – watch";
  byId("title").textContent = board.title;
  byId("program").textContent = board.title === program ? "" : program;
  const drawnByStories = new Set(board.panels.map((panel) => panel.options.graph).filter(Boolean));
  state.panels = board.panels.filter((panel) => !drawnByStories.has(panel.title)).map((panel) => {
    const heading = make("h2", { id: "panel-" + panel.name }, panel.title);
    const asOf = make("span", { class: "as-of" }, "");
    const chips = make("div", { class: "chips" });
    const body = make("div", { class: "body" }, make("p", { class: "nothing" }, "loading"));
    const kind = ["number", "state"].includes(panel.kind) ? " " + panel.kind : "";
    const section = make("section", { class: (panel.options.wide ? "wide" : "") + kind, "aria-labelledby": heading.id,
                                      "data-panel": panel.name },
                         make("div", { class: "top" }, heading, chips, asOf), body);
    return { ...panel, section, body, asOf, chips, hidden: new Set(), seen: null, wanted: true, busy: false,
             graph: board.panels.find((other) => other.title === panel.options.graph) };
  });
  byId("panels").replaceChildren(...state.panels.map((panel) => panel.section));
  state.versions.clear();
}

async function refresh(panel) {
  if (panel.busy) return;
  panel.busy = true;
  panel.wanted = false;
  try {
    await KINDS[panel.kind](panel);
    panel.section.dataset.ready = "true";
  } catch (error) {
    panel.wanted = true; // again with the next round
    if (error.status && error.status < 500 && error.status !== 429) panel.body.replaceChildren(nothing(error.message));
  } finally {
    panel.busy = false;
  }
}

function nothing(text) { return make("p", { class: "nothing" }, text); }

async function showNumber(panel) {
  const { rows } = await ask(panel.links.rows);
  if (!rows.length) { panel.body.replaceChildren(nothing("no rows yet")); return; }
  const time = Object.keys(rows[0]).find((name) => typeof rows[0][name] === "string" && MOMENT.test(rows[0][name]));
  const parts = panel.options.y.map((name) => {
    const sums = new Map(); // rows of one moment belong together; the newest come first
    rows.forEach((row, at) => { const key = time ? row[time] : at; sums.set(key, (sums.get(key) || 0) + (row[name] || 0)); });
    const values = [...sums.values()];
    const label = panel.options.y.length > 1 ? make("span", { class: "quiet" }, name + " ") : null;
    const value = make("div", { class: "value", "data-value": String(values[0]) }, quantity(values[0], panel.options.unit));
    return make("div", {}, label, value, spark(values.slice(0, -1).reverse()));
  });
  panel.body.replaceChildren(...parts);
}

function spark(values) {
  if (values.length < 2) return null;
  const high = Math.max(...values, 1e-9), SVG = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  picture.setAttribute("class", "spark");
  picture.setAttribute("viewBox", "0 0 100 40");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  path.setAttribute("d", values.map((value, at) =>
    (at ? "L" : "M") + (100 * at / (values.length - 1)).toFixed(2) + " " + (38 - 36 * value / high).toFixed(2)).join(""));
  picture.append(path);
  return picture;
}

async function showState(panel) {
  const { by, state: how, label, levels = {} } = panel.options;
  const { rows } = await ask(panel.links.rows + "?limit=500");
  const latest = new Map();
  for (const row of rows) if (!latest.has(row[by])) latest.set(row[by], row); // the newest come first
  if (!latest.size) { panel.body.replaceChildren(nothing("no rows yet")); return; }
  const tiles = [...latest.entries()].sort(([a], [b]) => String(a).localeCompare(String(b))).map(([name, row]) => {
    const level = Object.hasOwn(levels, row[how]) ? levels[row[how]] : "";
    const time = Object.values(row).find((value) => typeof value === "string" && MOMENT.test(value));
    const about = [label ? shown(row[label]) : "", time ? "at " + clock(time) : ""].filter(Boolean).join(", ");
    return make("li", { class: level }, make("span", { class: "name" }, shown(name)), ": ",
                make("span", { class: "how" }, shown(row[how])), make("small", {}, about));
  });
  panel.body.replaceChildren(make("ul", { class: "tiles" }, ...tiles));
}

async function showTable(panel) {
  const { rows } = await ask(panel.links.rows);
  panel.rows = rows;
  const severity = panel.options.severity;
  if (severity) {
    announce(panel, rows, severity);
    offer(panel, [...new Set(rows.map((row) => row[severity]))].sort((a, b) => a - b));
  }
  fill(panel);
  panel.seen = new Set(rows.map((row) => JSON.stringify(row)));
}

function fill(panel) {
  const severity = panel.options.severity;
  const rows = panel.rows.filter((row) => !panel.hidden.has(row[severity]));
  const scroll = panel.body.querySelector(".scroll"), top = scroll ? scroll.scrollTop : 0;
  panel.body.replaceChildren(rows.length ? table(panel, rows) : nothing(panel.rows.length ? "all are hidden" : "no rows yet"));
  const again = panel.body.querySelector(".scroll");
  if (again) again.scrollTop = top;
}

function table(panel, rows) {
  const names = panel.options.columns || Object.keys(rows[0]), severity = panel.options.severity;
  const amounts = new Set(names.filter((name) => name !== severity && rows.some((row) => typeof row[name] === "number")));
  const head = names.map((name) => make("th", { scope: "col", class: amounts.has(name) ? "amount" : "" }, name));
  const lines = rows.map((row) => {
    const line = make("tr", {}, ...names.map((name) => cell(row[name], name === severity, amounts.has(name))));
    if (panel.seen && !panel.seen.has(JSON.stringify(row))) line.className = "new";
    return line;
  });
  const inner = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": panel.title }, inner);
}

function cell(value, severity, amount) {
  if (severity) return make("td", {}, badge(value));
  const time = typeof value === "string" && MOMENT.test(value);
  const text = shown(value), kind = time ? "time" : amount ? "amount" : text.length > 40 ? "long" : "";
  return make("td", { class: kind, ...(time ? { title: value } : {}) }, text);
}

function badge(value) {
  const word = { 1: "1 high", 2: "2 medium", 3: "3 low" }[value] || shown(value);
  return make("span", { class: "badge s" + (Number.isInteger(value) ? value : "") }, word);
}

function offer(panel, levels) {
  const key = levels.join();
  if (panel.chips.dataset.levels === key) return;
  panel.chips.dataset.levels = key;
  panel.chips.setAttribute("role", "group");
  panel.chips.setAttribute("aria-label", "Severities that are shown");
  panel.chips.replaceChildren(...levels.map((level) => {
    const button = make("button", { type: "button", "aria-pressed": String(!panel.hidden.has(level)) }, "severity " + shown(level));
    button.addEventListener("click", () => {
      if (!panel.hidden.delete(level)) panel.hidden.add(level);
      button.setAttribute("aria-pressed", String(!panel.hidden.has(level)));
      fill(panel);
    });
    return button;
  }));
}

function announce(panel, rows, severity) {
  if (!panel.seen) return;
  const fresh = rows.filter((row) => !panel.seen.has(JSON.stringify(row)));
  if (!fresh.length) return;
  const texts = fresh.slice(0, 3).map((row) => Object.values(row).map(shown).join(" "));
  byId("news").textContent = panel.title + ": " + fresh.length + " new. " + texts.join(". ");
}

async function showChart(panel) {
  const picture = await draw(panel, panel.body);
  if (panel.picture) { await swap(panel.picture, picture); return; }
  panel.picture = make("img", { class: "chart", alt: panel.title + ", a chart; its rows stand below." });
  await swap(panel.picture, picture);
  const inner = make("div");
  const rows = make("details", { class: "rows" }, make("summary", {}, "rows"), inner);
  rows.addEventListener("toggle", () => { if (rows.open) showRows(panel, inner); });
  panel.details = rows;
  panel.inner = inner;
  panel.body.replaceChildren(panel.picture, rows);
}

async function showRows(panel, target) {
  const { rows } = await ask(panel.links.rows + "?limit=200");
  target.replaceChildren(rows.length ? table({ ...panel, seen: null }, rows) : nothing("no rows yet"));
}

async function draw(panel, target, each = null) {
  const width = Math.max(280, Math.min(1680, Math.floor((target.clientWidth || 600) / 20) * 20));
  const query = new URLSearchParams({ width, theme: dark.matches ? "dark" : "light", heading: "false" });
  if (each !== null) query.set("each", each);
  return ask(panel.links.chart + "?" + query, "blob");
}

async function swap(image, blob) {
  const old = image.src, url = URL.createObjectURL(blob);
  await new Promise((done) => { image.onload = image.onerror = done; image.src = url; });
  image.dataset.loaded = "true";
  if (old) URL.revokeObjectURL(old);
}

async function showStories(panel) {
  const { rows } = await ask(panel.links.rows);
  const { text, key, severity } = panel.options;
  const open = new Set([...panel.body.querySelectorAll("details[open]")].map((each) => each.dataset.key));
  if (!rows.length) { panel.body.replaceChildren(nothing("none so far")); return; }
  const stories = rows.map((row, at) => {
    const told = harmless(String(row[text])).split("\n");
    const name = key ? String(row[key]) : String(at);
    const target = make("div");
    const summary = make("summary", {}, severity ? badge(row[severity]) : null, " ", told[0]);
    const story = make("details", { class: "story", "data-key": name }, summary, make("p", {}, told.slice(1).join("\n")), target);
    story.addEventListener("toggle", () => { if (story.open && panel.graph) picture(panel, row, name, target); });
    story.open = panel.seen ? open.has(name) : at === 0;
    return story;
  });
  panel.seen = new Set();
  panel.body.replaceChildren(...stories);
}

async function picture(panel, row, name, target) {
  const image = make("img", { class: "chart", alt: "The steps as a graph; they are told above." });
  target.replaceChildren(image);
  await swap(image, await draw(panel.graph, panel.body, name)).catch(() => target.replaceChildren());
}

// ------------------------------------------------------------------------------------------------ dead letters

async function showDead() {
  const groups = await ask(base + "/dead"), section = byId("dead"), [summary, body] = section.children;
  const total = groups.reduce((sum, group) => sum + group.count, 0);
  section.hidden = !total;
  summary.textContent = "records that failed: " + counts.format(total);
  const columns = ["reason", "unit", "origin", "count", "first", "last", "detail", "input"];
  if (total) body.replaceChildren(table({ title: "Records that failed", options: { columns }, seen: null }, groups));
}

// ------------------------------------------------------------------------------------------------ rounds

async function round() {
  try {
    if (state.rounds % BOARD_EVERY === 0) await Promise.all([readBoard(), showDead()]);
    const sinks = await ask(base + "/sinks");
    state.rounds += 1;
    state.misses = 0;
    const changed = new Map(sinks.map((sink) => [sink.name, sink]));
    for (const panel of state.panels) note(panel, changed.get(panel.sink));
    tell(sinks);
    await Promise.all(state.panels.filter((panel) => panel.wanted).map(refresh));
  } catch (error) {
    miss(error);
  }
  setTimeout(round, PERIOD * Math.min(5, state.misses + 1));
}

async function readBoard() {
  const board = await ask(base + "/panels"), text = JSON.stringify(board);
  if (text === state.board) return;
  state.board = text;
  build(board);
}

function note(panel, sink) {
  if (!sink) return;
  const known = state.versions.get(panel.name);
  if (known !== sink.version || sink.version === null) { panel.wanted = true; state.versions.set(panel.name, sink.version); }
  const since = sink.as_of ? ago(moment(sink.as_of)) : "nothing written yet";
  panel.asOf.textContent = sink.as_of && panel.kind !== "number" ? "as of " + clock(sink.as_of) + ", " + since : since;
  if (panel.wanted && panel.details && panel.details.open) showRows(panel, panel.inner).catch(() => {});
}

function tell(sinks) {
  const moments = sinks.filter((sink) => sink.as_of).map((sink) => moment(sink.as_of));
  const newest = moments.length ? Math.max(...moments) : null;
  const stale = newest === null || Date.now() - newest > STALE;
  byId("status").className = "status " + (stale ? "stale" : "fresh");
  byId("status-text").textContent = newest === null ? "nothing written yet"
    : stale ? "nothing new since " + clock(new Date(newest).toISOString()) + ", " + ago(newest)
    : "live, newest data " + ago(newest);
  byId("away").hidden = true;
  byId("panels").classList.remove("lost");
  state.lastSeen = Date.now();
}

function miss(error) {
  if (error.status === 401) {
    location.assign("/sign-in?next=" + encodeURIComponent(location.pathname));
    return;
  }
  state.misses += 1;
  const gone = error.status === 404;
  byId("status").className = "status lost";
  byId("status-text").textContent = gone ? "unknown program" : "no answer";
  byId("away").hidden = false;
  byId("away").textContent = gone ? error.message : "The server is away"
    + (state.lastSeen ? " since " + clock(new Date(state.lastSeen).toISOString()) : "")
    + ". What stands here is what it said last; it is asked again and again.";
  byId("panels").classList.add("lost");
}

let resized = 0;
function redraw() { for (const panel of state.panels) if (panel.links.chart) { panel.wanted = true; } }
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(redraw, 300); });
dark.addEventListener("change", redraw);
round();
