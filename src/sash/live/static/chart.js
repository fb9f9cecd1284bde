// A chart of one zoom: a line with a band, the windows that are still open, and the corrections of the past.

import { moment, number } from "./format.js";

const HIGHLIGHT_SECONDS = 10;
const HEIGHT = 210;
const HIGH = 420;
const FADE_MILLISECONDS = 120;

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// uPlot's own formats, with 24 hours instead of am and pm
const DATE = "\n{YYYY}-{MM}-{DD}";
const DAY = "\n{MM}-{DD}";
const TIMES = [
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", DATE, null, DAY, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", DATE, null, DAY, null, null, null, 1],
  [0.001, ":{ss}.{fff}", `${DATE} {HH}:{mm}`, null, `${DAY} {HH}:{mm}`, null, "\n{HH}:{mm}", null, 1],
];

export function axes(isTime) {
  const common = { stroke: colour("note"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 } };
  return [
    isTime ? { ...common, values: TIMES } : { ...common },
    { ...common, size: 56, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick))) },
  ];
}

export const utc = (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC");

export class Chart {
  constructor(zoom, { isTime, onSelect, onKey, announce }) {
    this.zoom = zoom;
    this.isTime = isTime;
    this.onSelect = onSelect;
    this.onKey = onKey;
    this.announce = announce;
    this.panel = null;
    this.columns = null;
    this.line = null;
    this.now = null;
    this.arrived = 0;
    this.timer = 0;
    this.reading = null;
    this.tall = false;

    this.element = document.createElement("article");
    this.element.className = "panel";
    const title = document.createElement("h2");
    const name = document.createElement("span");
    name.textContent = zoom;
    this.readout = document.createElement("span");
    this.readout.className = "readout";
    title.append(name, this.readout);
    this.plot = document.createElement("div");
    this.plot.className = "plot";
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-describedby", "chart-help");
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("blur", () => (this.reading = null));
    this.element.append(title, this.plot);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.plot);
  }

  get width() {
    return Math.max(120, Math.floor(this.plot.clientWidth));
  }

  get height() {
    return this.tall ? HIGH : HEIGHT;
  }

  // -- data ---------------------------------------------------------------------------------------------------

  show(panel, columns, line, now) {
    [this.panel, this.columns, this.line, this.now, this.arrived] = [panel, columns, line, now, performance.now()];
    if (!this.chart) this.make();
    const [x, low, last, high] = columns;
    this.chart.batch(() => {
      this.chart.setData([x, low, last, high].map(withGaps), false);
      if (panel.from !== null) {
        const to = panel.to > panel.from ? panel.to : panel.from + 1;
        this.chart.setScale("x", { min: panel.from, max: to });
      }
    });
    this.describe();
    this.fade();
  }

  make() {
    const line = { stroke: colour("line"), width: 1.6, points: { show: false } };
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    const options = {
      width: this.width,
      height: this.height,
      legend: { show: false },
      padding: [8, 8, 0, 0],
      cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      scales: { x: { time: this.isTime, auto: false } },
      tzDate: utc,
      axes: axes(this.isTime),
      series: [{}, edge, line, edge],
      bands: [{ series: [3, 1], fill: colour("band") }],
      hooks: {
        drawClear: [(chart) => this.drawOpen(chart)],
        draw: [(chart) => this.drawCorrections(chart)],
        setCursor: [(chart) => this.read(chart.cursor.idx)],
        setSelect: [(chart) => this.select(chart)],
      },
    };
    this.chart = new uPlot(options, [[], [], [], []], this.plot);
    this.chart.over.addEventListener("dblclick", () => this.onSelect(null, null));
  }

  recolour() {
    if (!this.chart) return;
    this.chart.destroy();
    this.chart = null;
    if (this.panel) this.show(this.panel, this.columns, this.line, this.now);
  }

  resize() {
    if (this.chart && (this.chart.width !== this.width || this.chart.height !== this.height)) {
      this.chart.setSize({ width: this.width, height: this.height });
    }
  }

  remove() {
    clearTimeout(this.timer);
    this.observer.disconnect();
    this.chart?.destroy();
    this.element.remove();
  }

  // -- what is drawn besides the line -----------------------------------------------------------------------------

  drawOpen(chart) {
    if (this.now === null) return;
    const { left, top, width, height } = chart.bbox;
    const from = Math.max(left, Math.min(left + width, chart.valToPos(this.now, "x", true)));
    chart.ctx.save();
    chart.ctx.fillStyle = colour("open");
    chart.ctx.fillRect(from, top, left + width - from, height);
    chart.ctx.restore();
  }

  drawCorrections(chart) {
    const [x, , last, , age, before] = this.columns ?? [];
    if (!x) return;
    const { ctx, bbox } = chart;
    const passed = (performance.now() - this.arrived) / 1000;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const ratio = devicePixelRatio || 1;
    const step = x.length > 1 ? Math.abs(chart.valToPos(x[1], "x", true) - chart.valToPos(x[0], "x", true)) : 6;
    const width = Math.max(2 * ratio, Math.min(step, 14 * ratio));
    for (let i = 0; i < x.length; i++) {
      const left = 1 - (age[i] + passed) / HIGHLIGHT_SECONDS;
      if (!(left > 0)) continue;
      const at = chart.valToPos(x[i], "x", true);
      const to = chart.valToPos(last[i], "y", true);
      ctx.globalAlpha = left;
      ctx.fillStyle = colour("corrected-fill");
      ctx.fillRect(at - width / 2, bbox.top, width, bbox.height);
      ctx.strokeStyle = ctx.fillStyle = colour("corrected");
      ctx.lineWidth = 1.5 * ratio;
      if (Number.isFinite(before[i])) {
        ctx.beginPath();
        ctx.moveTo(at, chart.valToPos(before[i], "y", true));
        ctx.lineTo(at, to);
        ctx.stroke();
      }
      if (Number.isFinite(to)) {
        ctx.beginPath();
        ctx.arc(at, to, 2.2 * ratio, 0, 2 * Math.PI);
        ctx.fill();
      }
    }
    ctx.restore();
  }

  fade() {
    clearTimeout(this.timer);
    const youngest = this.columns[4].reduce((least, age) => (age < least ? age : least), Infinity);
    if (youngest + (performance.now() - this.arrived) / 1000 > HIGHLIGHT_SECONDS) return;
    this.timer = setTimeout(() => {
      this.chart?.redraw(false);
      this.fade();
    }, FADE_MILLISECONDS);
  }

  get corrected() {
    return this.columns ? this.columns[4].reduce((count, age) => count + (age >= 0 ? 1 : 0), 0) : 0;
  }

  // -- reading values -----------------------------------------------------------------------------------------------

  text(index) {
    const [x, low, last, high] = this.columns;
    const value = number(last[index]);
    const band = this.line.low !== this.line.high || low[index] !== high[index];
    const range = band ? ` (${number(low[index])} to ${number(high[index])})` : "";
    return `${moment(x[index], this.isTime)}: ${this.line.last} ${value}${range}`;
  }

  newest() {
    // the newest window that has ended
    const x = this.columns[0];
    let index = x.length - 1;
    while (index > 0 && this.now !== null && x[index] > this.now) index -= 1;
    return index;
  }

  describe() {
    const count = this.columns[0].length;
    if (!count) return;
    const index = this.reading === null ? this.newest() : Math.min(this.reading, count - 1);
    if (this.chart.cursor.idx === null || this.chart.cursor.left < 0) this.readout.textContent = this.text(index);
    this.plot.setAttribute("aria-label", `Chart of ${this.line.name}, windows of ${this.zoom}, ${count} points. Newest: ${this.text(this.newest())}`);
  }

  read(index) {
    if (this.columns?.[0].length) this.readout.textContent = this.text(index ?? this.newest());
  }

  select(chart) {
    if (chart.select.width < 4) return;
    const from = chart.posToVal(chart.select.left, "x");
    const to = chart.posToVal(chart.select.left + chart.select.width, "x");
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.onSelect(from, to);
  }

  key(event) {
    const count = this.columns?.[0].length ?? 0;
    if (!count || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) {
      const at = this.reading ?? this.newest();
      this.reading = Math.max(0, Math.min(count - 1, at + steps[event.key]));
      const left = this.chart.valToPos(this.columns[0][this.reading], "x");
      const top = this.chart.valToPos(this.columns[2][this.reading], "y");
      this.chart.setCursor({ left, top: Number.isFinite(top) ? top : 0 });
      this.announce(this.text(this.reading));
      event.preventDefault();
    } else if (this.onKey(event.key, this.panel)) {
      event.preventDefault();
    }
  }
}

// uPlot draws gaps for null, not for NaN
function withGaps(column) {
  return column.some(Number.isNaN) ? Array.from(column, (value) => (Number.isNaN(value) ? null : value)) : column;
}
