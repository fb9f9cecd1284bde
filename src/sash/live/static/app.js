// The page: what the reader chooses goes to the server as a view, what the server sends goes to the charts.
//
//   controls ──► position ──► view ──► server ──► messages ──► charts, numbers, table

import { QueryBox } from "./answer.js";
import { Chart } from "./chart.js";
import { bytes, moment, number, seconds, whole } from "./format.js";
import { decode } from "./messages.js";
import { readPosition, writePosition } from "./position.js";
import { Connection } from "./socket.js";
import { fillTable } from "./table.js";

const ALL = "All";
const TABLE_ROWS = 20;
const TABLE_MILLISECONDS = 1000;
const SPOKEN_MILLISECONDS = 15000;
const THEMES = ["system", "light", "dark"];
const $ = (id) => document.getElementById(id);

const position = readPosition();
const charts = new Map();
let page = null;
let lastView = "";
let nextTable = 0;
let nextSpoken = 0;
let wasConnected = false;

const connection = new Connection({ onMessage, onState });
const box = new QueryBox((message) => connection.send(message));
// what tests look at
window.sash = { position, charts, connection, messages: 0 };

// -- the server's messages --------------------------------------------------------------------------------------------

function onMessage(buffer) {
  const { header, columns } = decode(buffer);
  window.sash.messages += 1;
  const readers = { page: showPage, status: showStatus, panels: showPanels, answer: (h, c) => box.show(h, c), note: ({ text }) => say(text) };
  readers[header.kind]?.(header, columns);
}

function onState(state) {
  const connected = state === "connected";
  $("connection").classList.toggle("connected", connected);
  $("connection").textContent = connected ? "Connected" : wasConnected ? "Connection lost, trying again …" : "Connecting …";
  if (connected) {
    lastView = "";
    sendView();
  } else {
    box.lost();
  }
  wasConnected ||= connected;
}

function showPage(found) {
  const restarted = page !== null && page.run !== found.run;
  if (restarted) say("The server has restarted. The page shows its new stream.");
  const isNew = page === null || restarted;
  page = found;
  $("title").textContent = page.title;
  document.title = `${page.title} – Sash live`;
  $("engine").textContent = page.engine;
  $("query-text").textContent = page.query;
  $("key-label").textContent = page.keyNames.length ? page.keyNames.join(", ").replace(/^./, (first) => first.toUpperCase()) : "Key";
  $("burst").hidden = !page.canBurst;
  box.suggest(page.example);
  fillKeys();
  fillSelect($("line"), page.lines.map((line) => line.name), position.line);
  showZooms();
  if (isNew) showPlan();
  sendView();
}

function showStatus(status) {
  $("n-rows").textContent = whole(status.rowsPerSecond);
  $("n-results").textContent = whole(status.resultsPerSecond);
  $("n-corrections").textContent = whole(status.corrections);
  $("n-late").textContent = whole(status.late);
  $("n-left").parentElement.hidden = !status.left_out;
  $("n-left").textContent = whole(status.left_out);
  $("n-state").parentElement.hidden = status.state_bytes === null && status.state === "running"; // this process does not tell it
  $("n-state").textContent = bytes(status.state_bytes);
  $("n-delay").textContent = seconds(status.delay);
  $("message").hidden = !status.message;
  $("message").textContent = status.message;
}

let waiting = null;

// draws at the pace of the screen; the answer tells the server that this browser can take more
function showPanels(header, columns) {
  const isFirst = waiting === null;
  waiting = { ...waiting };
  for (const panel of header.panels) waiting[panel.zoom] = [panel, columns.slice(panel.first, panel.first + 6), header];
  if (!isFirst) {
    connection.send({ type: "ack", seq: header.seq });
    return;
  }
  requestAnimationFrame(() => {
    const drawn = waiting;
    waiting = null;
    for (const [zoom, [panel, found, from]] of Object.entries(drawn)) {
      if (from.key !== shown("key")) continue;
      const line = page.lines.find((one) => one.name === from.line);
      if (line) charts.get(zoom)?.show(panel, found, line, from.now);
    }
    showTable();
    speak();
    connection.send({ type: "ack", seq: header.seq });
  });
}

// -- what the reader chooses ----------------------------------------------------------------------------------------

const shown = (id) => (id === "key" ? key : $(id).value);
let key = "";

// the list of keys, which the browser searches while the reader types
function fillKeys() {
  const old = [...$("keys").children].map((option) => option.value);
  if (old.join("\n") !== page.keys.join("\n")) $("keys").replaceChildren(...page.keys.map((text) => new Option("", text)));
  // a wanted key that has no results yet stays wanted: after a restart, keys come back one by one
  key = page.keys.includes(position.key) ? position.key : (page.keys[0] ?? "");
  if (document.activeElement !== $("key")) $("key").value = key;
}

// takes a key, or the first one that has the text in it; otherwise the old one comes back
function chooseKey() {
  const text = $("key").value.trim();
  const found = page?.keys.includes(text) ? text : page?.keys.find((one) => text && one.toLowerCase().includes(text.toLowerCase()));
  if (found === undefined) say(`There is no ${$("key-label").textContent} “${text}”.`);
  else if (found !== key) move({ key: found });
  $("key").value = key;
}

function fillSelect(select, texts, wanted) {
  const old = [...select.options].map((option) => option.value);
  if (old.join("\n") !== texts.join("\n")) {
    select.replaceChildren(...texts.map((text) => new Option(text, text)));
  }
  // a wanted key that has no results yet stays wanted: after a restart, keys come back one by one
  const value = texts.includes(wanted) ? wanted : (texts[0] ?? "");
  if (select.value !== value) select.value = value;
}

function showZooms() {
  const names = page.zooms.length > 1 ? [ALL, ...page.zooms] : page.zooms;
  const old = [...$("zooms").querySelectorAll("input")].map((input) => input.value);
  if (old.join("\n") !== names.join("\n")) {
    $("zooms").replaceChildren(
      ...names.map((name) => {
        const label = document.createElement("label");
        const input = document.createElement("input");
        Object.assign(input, { type: "radio", name: "zoom", value: name });
        input.addEventListener("change", () => move({ zoom: name === ALL ? "" : name }));
        label.append(input, name);
        return label;
      }),
    );
  }
  const zooms = position.zoom && page.zooms.includes(position.zoom) ? [position.zoom] : page.zooms;
  const chosen = zooms.length === 1 ? zooms[0] : ALL;
  for (const input of $("zooms").querySelectorAll("input")) input.checked = input.value === chosen;
  for (const [zoom, chart] of charts) {
    if (!zooms.includes(zoom) || chart.isTime !== page.isTime) {
      chart.remove();
      charts.delete(zoom);
    }
  }
  if ([...charts.keys()].some((zoom, place) => zoom !== zooms[place])) clearCharts();
  for (const zoom of zooms) {
    if (!charts.has(zoom)) charts.set(zoom, new Chart(zoom, { isTime: page.isTime, onSelect: select, onKey: press, announce }));
    const chart = charts.get(zoom);
    chart.tall = zooms.length === 1;
    if (!chart.element.isConnected) $("charts").append(chart.element); // to move an element takes its focus
    chart.resize();
  }
  $("charts").classList.toggle("single", zooms.length === 1);
}

// charts stand in the order of the zooms: with others before them, all are made again
function clearCharts() {
  for (const chart of charts.values()) chart.remove();
  charts.clear();
}

function move(change) {
  Object.assign(position, change);
  writePosition(position);
  if (!page) return;
  fillKeys();
  fillSelect($("line"), page.lines.map((line) => line.name), position.line);
  showZooms();
  $("follow").setAttribute("aria-pressed", String(position.from === null));
  sendView();
}

function sendView() {
  if (!page) return;
  const panels = {};
  for (const [zoom, chart] of charts) panels[zoom] = { width: Math.round(chart.width * (devicePixelRatio || 1)), from: position.from, to: position.to };
  const view = JSON.stringify({ key: shown("key"), line: shown("line"), panels });
  if (view !== lastView && connection.send({ type: "view", ...JSON.parse(view) })) lastView = view;
}

function select(from, to) {
  move({ from, to });
}

// returns whether the key of the keyboard means something
function press(name, panel) {
  if (name === "Escape") {
    select(null, null);
    return true;
  }
  const width = panel.to - panel.from;
  const changes = {
    "+": [width / 4, -width / 4], "=": [width / 4, -width / 4], "-": [-width / 2, width / 2],
    PageUp: [-width / 2, -width / 2], PageDown: [width / 2, width / 2],
  };
  if (!(name in changes) || !(width > 0)) return false;
  select(panel.from + changes[name][0], panel.to + changes[name][1]);
  return true;
}

// -- words ----------------------------------------------------------------------------------------------------------

function say(text) {
  $("note").textContent = text;
}

function announce(text) {
  $("announce").textContent = text;
}

// a screen reader hears the newest values now and then, not fifteen times a second
function speak() {
  const now = performance.now();
  const chart = charts.values().next().value;
  if (now < nextSpoken || !chart?.columns?.[0].length || document.activeElement?.classList.contains("plot")) return;
  nextSpoken = now + SPOKEN_MILLISECONDS;
  announce(`${shown("key")}, ${chart.zoom}, ${chart.text(chart.newest())}`);
}

function showTable() {
  const now = performance.now();
  const chart = charts.values().next().value;
  if (!$("values").open || now < nextTable || !chart?.columns) return;
  nextTable = now + TABLE_MILLISECONDS;
  const [x, low, last, high] = chart.columns;
  const rows = [];
  for (let i = x.length - 1; i >= 0 && rows.length < TABLE_ROWS; i--) {
    const open = chart.now !== null && x[i] > chart.now ? " (open)" : "";
    rows.push([moment(x[i], page.isTime) + open, number(low[i]), number(last[i]), number(high[i])]);
  }
  const names = chart.line.low === chart.line.high ? ["lowest", chart.line.last, "highest"] : [chart.line.low, chart.line.last, chart.line.high];
  $("values-table").caption.textContent = `${shown("key")}, windows of ${chart.zoom}, newest first${page.isTime ? ", times in UTC" : ""}`;
  fillTable($("values-table"), ["end of the window", ...names], rows);
}

// -- colours and the plan -------------------------------------------------------------------------------------------

function theme() {
  const found = localStorage.getItem("sash-theme");
  return THEMES.includes(found) ? found : "system";
}

function showTheme() {
  const chosen = theme();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  $("theme").textContent = `Theme: ${chosen}`;
  for (const chart of charts.values()) chart.recolour();
  box.draw();
  if (page) showPlan();
}

function showPlan() {
  $("plan").src = `/plan.svg?theme=${theme()}&run=${page.run}`;
  fetch("/plan.txt")
    .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText))))
    .then((text) => ($("plan-text").textContent = text))
    .catch(() => ($("plan-text").textContent = "The server did not send the plan."));
}

$("key").addEventListener("change", chooseKey);
$("key").addEventListener("focus", () => $("key").select());
$("key").addEventListener("blur", () => ($("key").value = key));
$("line").addEventListener("change", () => move({ line: shown("line") }));
$("follow").addEventListener("click", () => (position.from === null && charts.size ? hold() : select(null, null)));
$("burst").addEventListener("click", () => connection.send({ type: "burst" }) || say("There is no connection."));
$("values").addEventListener("toggle", () => {
  nextTable = 0;
  showTable();
});
$("theme").addEventListener("click", () => {
  localStorage.setItem("sash-theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
addEventListener("resize", () => page && sendView());
addEventListener("hashchange", () => move(readPosition()));

// stops following: the first chart stays where it is
function hold() {
  const panel = charts.values().next().value.panel;
  if (panel && panel.from < panel.to) select(panel.from, panel.to);
}

$("follow").setAttribute("aria-pressed", String(position.from === null));
showTheme();
