// The query box: sends a text, and shows its results as a chart and a table, or its error.

import { axes, colour, utc } from "./chart.js";
import { whole } from "./format.js";
import { fillTable } from "./table.js";

const HEIGHT = 260;
const COLOURS = { light: ["#0b5cad", "#c2410c", "#1a7f37", "#8250df", "#9a6700", "#bf3989", "#1b7c83", "#57606a"],
                  dark: ["#7cc0ff", "#ffa657", "#56d364", "#d2a8ff", "#e3b341", "#ff9bce", "#76e3ea", "#b1bac4"] };
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);

export class QueryBox {
  constructor(send) {
    this.send = send;
    this.number = 0;
    this.latest = null;
    this.touched = false;
    $("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    $("cancel").addEventListener("click", () => this.send({ type: "cancel" }));
    $("query").addEventListener("input", () => (this.touched = true));
    $("query").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.run();
      }
    });
    new ResizeObserver(() => this.chart?.setSize({ width: this.width, height: HEIGHT })).observe($("answer-chart"));
  }

  get width() {
    return Math.max(200, Math.floor($("answer-chart").clientWidth));
  }

  suggest(text) {
    if (!this.touched) $("query").value = text;
  }

  run() {
    this.number += 1;
    const sent = this.send({ type: "query", id: this.number, text: $("query").value });
    this.running(sent);
    $("answer-status").textContent = sent ? "Running …" : "There is no connection. Try again when it is back.";
  }

  // a connection that is lost takes its answer with it
  lost() {
    if ($("run").disabled) $("answer-status").textContent = "The connection was lost before the answer came. Run it again.";
    this.running(false);
  }

  running(is) {
    $("run").disabled = is;
    $("cancel").disabled = !is;
  }

  show(header, columns) {
    if (header.id !== this.number) return;
    this.running(false);
    $("error").hidden = !header.error;
    $("error").textContent = header.error;
    $("answer").hidden = Boolean(header.error);
    if (header.error) {
      $("answer-status").textContent = "The query has an error.";
      return;
    }
    const note = header.note ? ` ${header.note}` : "";
    $("answer-status").textContent = `${whole(header.results)} results from ${whole(header.rows)} rows.${note}`;
    this.latest = { header, columns };
    fillTable($("answer-table"), header.names, header.table);
    this.draw();
  }

  draw() {
    this.chart?.destroy();
    this.chart = null;
    $("answer-legend").replaceChildren();
    if (!this.latest?.header.lines.length) return;
    const { header, columns } = this.latest;
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
    const colours = COLOURS[isDark ? "dark" : "light"];
    const tables = header.lines.map(({ first }) => columns.slice(first, first + 4).map(plain));
    const data = uPlot.join(tables);
    const series = [{}];
    const bands = [];
    header.lines.forEach((line, place) => {
      const edge = { stroke: "transparent", width: 0, points: { show: false } };
      bands.push({ series: [place * 3 + 3, place * 3 + 1], fill: `${colours[place]}33` });
      series.push(edge, { stroke: colours[place], width: 1.6, points: { size: 4 } }, edge);
      $("answer-legend").append(legendItem(line.name, colours[place]));
    });
    const options = {
      width: this.width, height: HEIGHT, legend: { show: false }, padding: [8, 8, 0, 0], tzDate: utc, axes: axes(header.isTime),
      scales: { x: { time: header.isTime } }, series, bands,
    };
    this.chart = new uPlot(options, data, $("answer-chart"));
    const names = header.lines.map((line) => line.name).join(", ");
    $("answer-chart").setAttribute("role", "img");
    $("answer-chart").setAttribute("aria-label", `Chart of ${names}. The table below has the values.`);
  }
}

function plain(column) {
  return Array.from(column, (value) => (Number.isNaN(value) ? null : value));
}

function legendItem(text, stroke) {
  const item = document.createElement("li");
  const sample = document.createElementNS(SVG, "svg");
  sample.setAttribute("viewBox", "0 0 18 8");
  sample.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", "M0 4h18");
  line.setAttribute("stroke", stroke);
  line.setAttribute("stroke-width", "3");
  sample.append(line);
  const label = document.createElement("span");
  label.textContent = text;
  item.append(sample, label);
  return item;
}
