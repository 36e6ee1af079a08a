"use strict";
// What the server sends is text: it is set by textContent and never becomes markup.

const $ = (id) => document.getElementById(id);
const rows = new Map();
const data = { sequence: -1, atMs: 0, ageMs: null, reason: "The records are not read yet.", summary: null, open: false };
let tickAt = performance.now();
let stream = null;
let me = { operator: null, tokens: false, plan: true };
const ROWS_MAX = 500;
const READ_ONLY = "This page only shows. Start it with --token-file, or use its socket, to act.";

function element(name, content, attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const part of [content ?? ""].flat()) made.append(part);
  return made;
}

// ---- numbers and times

const loss = (value) => value.toExponential(1).replace("e+0", "").replace("e-", "e-");
const clock = (ms) => new Date(ms).toLocaleString([], { dateStyle: "short", timeStyle: "medium" });
const now = () => data.atMs + (data.ageMs === null ? 0 : data.ageMs) + (performance.now() - tickAt);
const age = () => data.ageMs === null ? null : data.ageMs + (performance.now() - tickAt);

function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d";
}

// ---- what a row says

const worst = (row) => row.ends.map((end) => end.loss).filter(Boolean).sort((a, b) => b.loss - a.loss)[0];
const forecastOf = (row) => Math.max(0, ...row.ends.map((end) => end.forecast ?? 0));
const copiesOf = (row) => Math.max(...row.ends.map((end) => end.copies ?? 0));
const silentSince = (row) => Math.min(...row.ends.map((end) => end.silent_since_ms ?? Infinity));
const isDown = (row) => row.ends.some((end) => end.down);

function lossText(row) {
  const seen = worst(row);
  if (seen) return `${loss(seen.loss)} (${loss(seen.low)} to ${loss(seen.high)})`;
  return isDown(row) ? "no carrier" : "";
}
function protectionText(row) {
  if (row.hold) return `${row.hold.maintenance ? "maintenance" : "held"}: ${row.hold.why}`;
  const copies = copiesOf(row);
  const cost = row.cost ? `, keeps ${(row.cost.speed * 100).toFixed(0)} % of the speed, loses ${loss(row.cost.residual_loss)}` : "";
  if (copies > 0) return `${copies} ${copies === 1 ? "copy" : "copies"}${cost}`;
  return row.ends.map((end) => end.declined).find(Boolean) ?? "";
}
function ageText(row, at) {
  const since = silentSince(row);
  if (since !== Infinity) return `${span(at - since)} old`;
  return row.ends.some((end) => end.unmonitored) ? "one end unknown" : "current";
}

const COLUMNS = [
  { id: "link", name: "Link", text: (row) => row.link, key: (row) => row.link },
  { id: "peer", name: "Other end", text: (row) => row.ends[1].port, key: (row) => row.ends[1].port },
  { id: "loss", name: "Loss", text: lossText, key: (row) => -(worst(row)?.loss ?? (isDown(row) ? 1e-18 : 0)), mark: "bad" },
  { id: "since", name: "Since", text: (row, at) => row.since_ms ? (row.since_at_least ? "over " : "") + span(at - row.since_ms) : "",
    key: (row) => -(row.since_ms ?? 0) },
  { id: "forecast", name: "FEC forecast", text: (row) => forecastOf(row) ? loss(forecastOf(row)) : "", key: (row) => -forecastOf(row),
    mark: "hint" },
  { id: "protection", name: "Protection", text: protectionText, key: (row) => -copiesOf(row), wide: true },
  { id: "advice", name: "Advice", text: (row) => row.advice ? `${row.advice.action}: ${row.advice.reason}` : "",
    key: (row) => row.advice?.action ?? "~", wide: true },
  { id: "age", name: "Age of data", text: ageText, key: silentSince },
  { id: "act", name: "Last act", text: (row, at) => row.act ? `${span(at - row.act.at_ms)} ago by ${row.act.by}: ${row.act.text}` : "",
    key: (row) => -(row.act?.at_ms ?? 0), wide: true },
];
const STATES = {
  corrupting: { name: "corrupt", is: (row) => !!worst(row) },
  protected: { name: "protected", is: (row) => copiesOf(row) > 0 },
  drain: { name: "to drain", is: (row) => row.advice?.action === "drain" },
  held: { name: "held", is: (row) => !!row.hold },
  down: { name: "down", is: isDown },
  forecast: { name: "will corrupt", is: (row) => !worst(row) && forecastOf(row) > 0 },
  silent: { name: "not reported", is: (row) => silentSince(row) !== Infinity },
};

// ---- the place: #/now?filter=a&state=held&sort=loss, #/link/NODE:PORT, #/map/POD, #/time

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  const known = ["now", "link", "map", "time"].includes(view) ? view : "now";
  let name = rest.join("/");
  // A malformed escape stays as it is; the server does not know such a name.
  try { name = decodeURIComponent(name); } catch {}
  return { view: known, name, query: new URLSearchParams(query ?? "") };
}
function setQuery(changes) {
  const { query } = place();
  for (const [key, value] of Object.entries(changes)) value ? query.set(key, value) : query.delete(key);
  const text = query.toString();
  history.replaceState(null, "", "#/now" + (text ? "?" + text : ""));
  renderNow();
}

// ---- tables

function fill(row, cells) {
  cells.forEach(([text, attributes, node], at) => {
    let cell = row.children[at];
    if (!cell) row.append(cell = element("td", node ?? ""));
    for (const [key, value] of Object.entries(attributes)) if (cell.getAttribute(key) !== value) cell.setAttribute(key, value);
    if (!node && cell.textContent !== text) cell.textContent = text;
  });
}

function renderLinks(table, list, at, isPast = false) {
  const body = table.tBodies[0];
  const before = new Map([...body.children].map((row) => [row.dataset.link, row]));
  const focused = document.activeElement?.closest?.("tr")?.dataset.link;
  list.forEach((row, position) => {
    let line = before.get(row.link);
    if (!line) {
      line = element("tr", "", { "data-link": row.link });
      line.append(element("td", element("a", row.link, { href: "#/link/" + encodeURIComponent(row.link) }), { class: "nowrap" }));
    }
    before.delete(row.link);
    fill(line, COLUMNS.map((column, index) => {
      // Which daemons were silent then is not stored.
      const text = isPast && column.id === "age" ? "" : column.text(row, at);
      const kind = [text ? column.mark ?? "" : "empty", column.wide ? "wide" : "nowrap"].join(" ").trim();
      return [text, { class: kind, "data-name": column.name }, index === 0 ? line.firstChild.firstChild : null];
    }));
    if (body.children[position] !== line) body.insertBefore(line, body.children[position] ?? null);
  });
  for (const gone of before.values()) gone.remove();
  if (focused && document.activeElement === document.body) {
    body.querySelector(`tr[data-link="${CSS.escape(focused)}"] a`)?.focus();
  }
}

function head(table, sort) {
  const cells = COLUMNS.map((column) => {
    const cell = element("th", sort ? element("button", column.name, { type: "button" }) : column.name, { scope: "col" });
    if (sort) cell.firstChild.addEventListener("click", () => sort(column.id));
    return cell;
  });
  table.tHead.replaceChildren(element("tr", cells));
}

function selected() {
  const { query } = place();
  const words = (query.get("filter") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const state = STATES[query.get("state")];
  const at = now();
  const sort = (query.get("sort") ?? "loss").split("-");
  const column = COLUMNS.find((one) => one.id === sort[0]) ?? COLUMNS[2];
  const list = [...rows.values()].filter((row) => {
    if (state && !state.is(row)) return false;
    if (!words.length) return true;
    const text = (COLUMNS.map((one) => one.text(row, at)).join(" ") + " " + row.pod).toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const order = (a, b) => { const [x, y] = [column.key(a), column.key(b)]; return x < y ? -1 : x > y ? 1 : a.link < b.link ? -1 : 1; };
  list.sort(order);
  if (sort[1] === "reverse") list.reverse();
  return { list, column, reversed: sort[1] === "reverse", state: query.get("state") };
}

function renderNow() {
  if (place().view !== "now" || !data.summary) return;
  const { list, column, reversed, state } = selected();
  const counters = $("counters");
  if (!counters.children.length) {
    for (const [id, { name }] of Object.entries(STATES)) {
      const button = element("button", [element("b", "0"), name], { type: "button", "data-state": id });
      button.addEventListener("click", () => setQuery({ state: place().query.get("state") === id ? "" : id }));
      counters.append(button);
    }
  }
  for (const button of counters.children) {
    button.firstChild.textContent = data.summary[button.dataset.state];
    button.setAttribute("aria-pressed", String(button.dataset.state === state));
  }
  [...$("links").tHead.rows[0].cells].forEach((cell, at) => {
    const isSorted = COLUMNS[at] === column;
    isSorted ? cell.setAttribute("aria-sort", reversed ? "descending" : "ascending") : cell.removeAttribute("aria-sort");
  });
  $("halt").hidden = !data.summary.halt;
  $("halt").textContent = data.summary.halt ? "Planners are halted: " + data.summary.halt : "";
  const more = list.length > ROWS_MAX ? `, the first ${ROWS_MAX} shown` : "";
  $("count").textContent = `${list.length} of ${rows.size} links with something to see${more}; ${data.summary.links} in all`;
  renderLinks($("links"), list.slice(0, ROWS_MAX), now());
}

function renderStatus() {
  const old = age();
  let text, isOld = true;
  if (!data.open) text = "The server does not answer" + (old === null ? "." : `; the data are ${span(old)} old.`);
  else if (old === null) text = data.reason;
  else if (data.reason) text = `The data are ${span(old)} old: ${data.reason}`;
  else { text = "Live"; isOld = false; }
  $("status").textContent = text;
  $("status").className = isOld ? "old" : "ok";
  const announced = isOld ? "The data are not current." : "Live.";
  if ($("announced").textContent !== announced) $("announced").textContent = announced;
}

// ---- one link

async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

let asked = 0;
async function renderLink() {
  const { view, name } = place();
  if (view !== "link") return;
  const turn = ++asked;
  try {
    const port = encodeURIComponent(name);
    const [found, drain] = await Promise.all([ask("/api/link?port=" + port), ask("/api/drain?port=" + port)]);
    if (turn !== asked) return;
    showLink(found, drain);
  } catch (error) {
    if (turn !== asked) return;
    $("title").textContent = name;
    $("verdict").textContent = error.message;
  }
}

function showLink({ row, watched, relays, events, counters }, drain) {
  $("title").textContent = `${row.ends[0].port} - ${row.ends[1].port}`;
  $("verdict").textContent = verdict(row);
  $("verdict").className = worst(row) || isDown(row) ? "bad" : "ok";
  const facts = [
    ["Received frames", (end) => end.loss ? `${end.loss.errors} of ${end.loss.frames} corrupted` : "no corruption observed"],
    ["Loss", (end) => end.loss ? `${loss(end.loss.loss)} (${loss(end.loss.low)} to ${loss(end.loss.high)})` : ""],
    ["FEC forecast", (end) => end.forecast ? loss(end.forecast) : ""],
    ["Carrier", (end) => end.down ? "no" : "yes"],
    ["Relay", (end, at) => relayText(end, relays[at], counters?.ends[at])],
    ["Why not protected", (end) => end.declined ?? ""],
    ["Daemon", (end) => !watched ? "" : end.unmonitored ? "none" : end.silent_since_ms ? "silent since " + clock(end.silent_since_ms) : "reports"],
  ];
  const ends = row.ends.map((end) => element("th", end.port, { scope: "col" }));
  $("ends").tHead.replaceChildren(element("tr", [element("td"), ...ends]));
  $("ends").tBodies[0].replaceChildren(...facts.map(([name, text]) =>
    element("tr", [element("th", name, { scope: "row" }), ...row.ends.map((end, at) => element("td", text(end, at)))])));
  const may = drain.allowed ? "It may be drained: " : drain.links.length ? "It must stay: " : "";
  $("drain").textContent = may + drain.text
    + (drain.links.length > 1 ? `. Out with it: ${drain.links.slice(1).join(", ")}` : "");
  const hold = row.hold;
  $("held").textContent = hold ? `${hold.maintenance ? "Maintenance" : "Held"} until ${clock(hold.until_ms)}: ${hold.why}` : "Not held.";
  $("release").disabled = !hold;
  showEvents($("events"), [...events].reverse(), true);
  $("chart").replaceChildren(...chart(row, events, counters));
  showCounters(row, counters);
}

function relayText(end, has, counted) {
  const relay = counted?.relay;
  if (!relay && has && counted && counted.at_ms !== null) return "does not answer";
  if (!relay) return has ? (end.copies ? `active, ${end.copies} copies` : "bypassed by the kernel") : "none";
  const [sends, receives] = relay.protects;
  const what = sends && receives ? "protects both directions" : sends ? "protects what it sends" : receives ? "protects what it receives" : "protects nothing";
  return [what, sends ? `${relay.copies} ${relay.copies === 1 ? "copy" : "copies"}` : "", sends || receives ? relay.level : "",
    relay.loss && (sends || receives) ? `loss ${loss(relay.loss)}` : "", relay.held_back ?? ""].filter(Boolean).join(", ");
}

// What `wiremend monitor explain` says of the stored counters, and the counters.
function showCounters(row, counters) {
  const ends = counters?.ends ?? [];
  const has = ends.some((end) => end.at_ms !== null);
  $("raw").hidden = !has;
  $("reasons").replaceChildren();
  if (!has) {
    $("cause").textContent = "No counters are stored: daemons store those of links that need attention.";
    return;
  }
  if (!counters.cause) {
    $("cause").textContent = "Not enough counters of both ends yet to compare.";
  } else {
    const lost = row.ends.map((end, at) => {
      const seen = counters.lost[at];
      if (ends[at].at_ms === null) return `nothing is known of ${end.port}`;
      return seen ? `to ${end.port} ${seen.errors} of ${seen.frames} frames were lost` : `${end.port} does not count bad frames`;
    });
    const until = clock(Math.max(...ends.map((end) => end.at_ms ?? 0)));
    $("cause").textContent = `${counters.cause}, in the ${span(counters.span_ms)} until ${until}: ${lost.join("; ")}.`;
  }
  $("reasons").replaceChildren(...counters.reasons.map((reason) =>
    element("li", `${reason.cause} at ${row.ends[reason.upper ? 1 : 0].port}: ${reason.text}`)));
  const heads = row.ends.map((end, at) => element("th", end.port + (ends[at].at_ms ? `, ${clock(ends[at].at_ms)}` : ", none stored"), { scope: "col" }));
  $("counters-table").tHead.replaceChildren(element("tr", [element("th", "Counter", { scope: "col" }), ...heads]));
  const names = [...new Set(ends.flatMap((end) => end.counters.map((one) => one.name)))];
  const cell = (one) => one ? `${one.value}` + (one.grown ? ` (+${one.grown})` : "") : "";
  const relayNames = [...new Set(ends.flatMap((end) => Object.keys(end.relay?.counts ?? {})))];
  $("counters-table").tBodies[0].replaceChildren(
    ...names.map((name) => element("tr", [element("th", name, { scope: "row" }),
      ...ends.map((end) => element("td", cell(end.counters.find((one) => one.name === name))))])),
    ...relayNames.map((name) => element("tr", [element("th", "relay: " + name, { scope: "row" }),
      ...ends.map((end) => element("td", String(end.relay?.counts[name] ?? "")))])));
}

function verdict(row) {
  const causes = row.ends.filter((end) => end.loss).map((end) =>
    `corruption at ${end.port}: ${end.loss.errors} of ${end.loss.frames} frames, loss ${loss(end.loss.loss)}, ` +
    `between ${loss(end.loss.low)} and ${loss(end.loss.high)} with 99 % confidence`);
  if (isDown(row)) causes.push("no carrier");
  if (!causes.length && forecastOf(row)) causes.push(`FEC counters predict a loss of ${loss(forecastOf(row))}`);
  if (row.advice) causes.push(`advice: ${row.advice.action}, ${row.advice.reason}`);
  return causes.length ? causes.join("; ") : "No corruption is observed.";
}

function showEvents(table, events, isOfLink) {
  const names = ["Time", ...(isOfLink ? ["End"] : ["Port"]), "What", "Who"];
  table.tHead.replaceChildren(element("tr", names.map((name) => element("th", name, { scope: "col" }))));
  table.tBodies[0].replaceChildren(...events.slice(0, ROWS_MAX).map((event) => element("tr", [
    element("td", clock(event.at_ms), { class: "nowrap" }),
    element("td", isOfLink ? event.port : element("a", event.port, { href: "#/link/" + encodeURIComponent(event.port) })),
    element("td", event.text, { class: "wide" }), element("td", event.by)])));
}

// Loss of both directions over time, on a logarithmic scale; clean is the lowest line.
function chart(row, events, counters) {
  const seen = events.filter((event) => event.kind === "observation");
  if (!seen.length) return [element("p", "No history is stored.", { class: "note" })];
  const svg = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const [left, right, top, bottom] = [60, 880, 30, 190];
  const from = events[0].at_ms, to = Math.max(now(), from + 60000);
  const x = (ms) => left + (right - left) * (ms - from) / (to - from);
  const y = (value) => value > 0 ? top + (bottom - 20 - top) * Math.min(1, Math.max(0, -Math.log10(value) / 10)) : bottom;
  const picture = svg("svg", { viewBox: "0 0 900 225", role: "img", "aria-label": "Loss of both directions over time; the table below has the values" });
  for (const value of [1, 1e-2, 1e-4, 1e-6, 1e-8, 0]) {
    picture.append(svg("path", { class: "grid", d: `M${left} ${y(value)}H${right}` }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value === 0 ? "clean" : value === 1 ? "1" : loss(value).replace(".0", "")));
  }
  row.ends.forEach((end, at) => {
    const of = seen.filter((event) => event.port === end.port);
    let path = "", level = null;
    for (const event of of) {
      path += level === null ? `M${x(event.at_ms)} ${y(event.loss)}` : `H${x(event.at_ms)}V${y(event.loss)}`;
      level = event.loss;
    }
    if (path) picture.append(svg("path", { class: "c" + at, d: path + `H${right}` }));
    picture.append(svg("text", { class: "t" + at, x: left + 300 * at, y: 16 }, "received at " + end.port));
  });
  row.ends.forEach((_, at) => {
    for (const [ms, value] of counters?.ends[at].losses ?? []) {
      if (ms >= from) picture.append(svg("circle", { class: "p" + at, cx: x(ms), cy: y(value), r: 2 }));
    }
  });
  for (const event of events.filter((one) => one.kind !== "observation")) {
    const mark = svg("path", { class: "act", d: `M${x(event.at_ms)} ${bottom}v8` });
    mark.append(svg("title", {}, `${clock(event.at_ms)} ${event.by}: ${event.text}`));
    picture.append(mark);
  }
  picture.append(svg("text", { x: left, y: 218 }, clock(from)), svg("text", { x: right, y: 218, "text-anchor": "end" }, clock(to)));
  return [picture];
}

async function act(path, body) {
  const token = $("hold").elements.token.value || sessionStorage.getItem("token") || "";
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = "Bearer " + token;
  $("outcome").textContent = "…";
  try {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text.trim());
    if (token) sessionStorage.setItem("token", token);
    $("outcome").textContent = (path.endsWith("hold") ? "Held by " : "Hold ended by ") + JSON.parse(text).by + ".";
    $("outcome").className = "ok";
  } catch (error) {
    $("outcome").textContent = error.message;
    $("outcome").className = "bad";
  }
  renderLink();
}

// ---- map

async function renderMap() {
  const { view, name } = place();
  if (view !== "map") return;
  const turn = ++asked;
  try {
    const cells = await ask("/api/map" + (name ? "?pod=" + encodeURIComponent(name) : ""));
    if (turn !== asked) return;
    name ? showPod(name, cells) : showPods(cells);
  } catch (error) {
    if (turn === asked) $("maphint").textContent = error.message;
  }
}
const percent = (share) => (share * 100).toFixed(share > 0.995 && share < 1 ? 1 : 0) + " %";

function showPods(cells) {
  $("maptitle").textContent = "Pods";
  $("maphint").textContent = "Each cell is a pod with the capacity of the ToR that has the least to spare. Red: corrupting links; " +
    "orange: links out of service; a red frame: less capacity than required.";
  $("cells").replaceChildren(...cells.map((cell) => {
    const isShort = cell.share < cell.required;
    const kind = [cell.corrupting ? "corrupting" : cell.out ? "out" : "", isShort ? "short" : ""].join(" ").trim();
    const label = `pod ${cell.name}: ${cell.links} links, ${cell.corrupting} corrupt, ${cell.out} out of service, ` +
      `the tightest ToR has ${percent(cell.share)} and needs ${percent(cell.required)}`;
    const counts = cell.corrupting || cell.out ? `${cell.corrupting} bad, ${cell.out} out` : "\u00a0";
    return element("a", [element("span", `${cell.name} ${percent(cell.share)}`), element("span", counts)],
      { href: "#/map/" + encodeURIComponent(cell.name), class: kind, title: label, "aria-label": label });
  }));
}

function showPod(name, cells) {
  $("maptitle").textContent = "Pod " + name;
  $("maphint").textContent = "ToRs with their uplinks. The share is the capacity to the top tier that is left.";
  const lines = cells.map((cell) => element("tr", [
    element("th", cell.name, { scope: "row" }),
    element("td", `${percent(cell.share)}, needs ${percent(cell.required)}`, { class: cell.share < cell.required ? "bad nowrap" : "nowrap" }),
    element("td", cell.uplinks.map((uplink) => element("a", `${uplink.to}${uplink.state === "clean" ? "" : ": " + uplink.state}`,
      { href: "#/link/" + encodeURIComponent(uplink.link), class: uplink.state }))),
  ]));
  const names = ["ToR", "Capacity left", "Uplinks"].map((text) => element("th", text, { scope: "col" }));
  $("cells").replaceChildren(element("table", [element("thead", element("tr", names)), element("tbody", lines)]));
}

// ---- time

async function renderTime() {
  if (place().view !== "time") return;
  const turn = ++asked;
  const minutes = Number($("at").value);
  const at = Math.floor(now() + minutes * 60000);
  $("attext").textContent = minutes === 0 ? "now" : clock(at);
  const [view, events] = await Promise.all([ask("/api/at?ms=" + at), ask("/api/events")]).catch(() => [null, null]);
  if (turn !== asked || !view) return;
  renderLinks($("past"), view.links.slice(0, ROWS_MAX), at, true);
  showEvents($("timeline"), events.filter((event) => event.at_ms <= at), false);
}

// ---- the stream

function onRows(change, isWhole) {
  if (!isWhole && change.sequence <= data.sequence) return;
  if (!isWhole && change.sequence !== data.sequence + 1) return connect();
  if (isWhole) rows.clear();
  for (const link of change.gone ?? []) rows.delete(link);
  for (const row of change.links) rows.set(row.link, row);
  const { name } = place();
  const concerns = change.links.some((row) => row.ends.some((end) => end.port === name)) || (change.gone ?? []).includes(name);
  Object.assign(data, { sequence: change.sequence, summary: change.summary ?? data.summary });
  renderNow();
  if (concerns) renderLink();
  renderMap();
}

function connect() {
  stream?.close();
  stream = new EventSource("/api/stream");
  stream.addEventListener("open", () => { data.open = true; renderStatus(); });
  stream.addEventListener("view", (event) => onRows(JSON.parse(event.data), true));
  stream.addEventListener("change", (event) => onRows(JSON.parse(event.data), false));
  stream.addEventListener("tick", (event) => {
    const tick = JSON.parse(event.data);
    const isFirst = data.atMs === 0;
    Object.assign(data, { open: true, atMs: tick.at_ms, ageMs: tick.age_ms, reason: tick.reason });
    tickAt = performance.now();
    renderStatus();
    renderNow();
    // Only now the time of the server is known.
    if (isFirst) renderTime();
  });
  stream.addEventListener("error", () => {
    data.open = false;
    renderStatus();
    // A browser does not try again after an answer that is no stream.
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  });
}

// ---- start

function show() {
  const { view, query } = place();
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== view;
  for (const link of document.querySelectorAll("nav a")) {
    link.dataset.view === view ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  $("filter").value = query.get("filter") ?? "";
  $("outcome").textContent = me.operator || me.tokens ? "" : READ_ONLY;
  renderNow();
  renderLink();
  renderMap();
  renderTime();
  if (view === "link") $("title").focus();
}

function onKey(event) {
  const isField = event.target.matches("input, select, textarea");
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") {
    isField ? event.target.blur() : place().view !== "now" ? history.length > 1 ? history.back() : location.hash = "#/now" : null;
  } else if (isField) {
    return;
  } else if (event.key === "/" && place().view === "now") {
    event.preventDefault();
    $("filter").focus();
  } else if (["j", "k"].includes(event.key) && place().view === "now") {
    const links = [...document.querySelectorAll("#links tbody a")];
    const at = links.indexOf(document.activeElement);
    links[Math.min(links.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))]?.focus();
  }
}

async function start() {
  head($("links"), (id) => {
    const { column, reversed } = selected();
    setQuery({ sort: column.id === id && !reversed ? id + "-reverse" : id });
  });
  head($("past"), null);
  $("filter").addEventListener("input", () => setQuery({ filter: $("filter").value }));
  $("at").addEventListener("input", renderTime);
  $("hold").addEventListener("submit", (event) => {
    event.preventDefault();
    const { seconds, why, maintenance } = $("hold").elements;
    act("/api/hold", { port: place().name, seconds: Number(seconds.value), why: why.value, maintenance: maintenance.checked });
  });
  $("release").addEventListener("click", () => act("/api/release", { port: place().name }));
  window.addEventListener("hashchange", show);
  window.addEventListener("keydown", onKey);
  setInterval(renderStatus, 1000);
  // Counters are stored without a message.
  setInterval(renderLink, 10000);
  connect();
  show();
  me = await ask("/api/me").catch(() => me);
  // A machine without Redis has no plan and no holds.
  for (const part of document.querySelectorAll(".plan")) part.hidden = !me.plan;
  $("hold").hidden = !me.operator && !me.tokens;
  $("tokenfield").hidden = !!me.operator;
  if (me.operator || me.tokens) $("outcome").textContent = "";
}
start();
