"use strict";
// The page works on what it holds: `data` has the runs, their curves and their figures; the table stands in the page
// already, so that it can be read before (and without) any of this.
const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
// A list of its own to listen to: where its value is read before the event is sent, Chromium sends none.
const scheme = matchMedia("(prefers-color-scheme: dark)");
const $ = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// ---------------------------------------------------------------- colours
// Told apart by every kind of colour vision, by contrast with the paper, and by the symbols besides.
const LIGHT = ["#0072b2", "#d55e00", "#00775a", "#b0408a", "#8a6d00", "#5a5a5a", "#6a3d9a", "#a32020"];
const DARK = ["#56b4e9", "#ff9f4a", "#2ed3a3", "#f08cc8", "#e5cf4b", "#c0c0c0", "#b79cf0", "#ff8080"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
const GLYPHS = ["●", "■", "◆", "▲", "✚", "✖", "★", "▼"];
const DASHES = { bound: "dash", theory: "dot", floor: "dot", fit: "dashdot" };
const colour = (index) => (dark.matches && !printing ? DARK : LIGHT)[index % LIGHT.length];
let printing = false;
// A run keeps its colour and symbol while it is shown, whatever else is.
const slots = new Map();
function slot(run) {
  if (!slots.has(run)) {
    const taken = new Set(slots.values());
    let free = 0;
    while (taken.has(free)) free++;
    slots.set(run, free);
  }
  return slots.get(run);
}
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---------------------------------------------------------------- numbers and text
function floats(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return Array.from(new Float32Array(bytes.buffer));
}
function show(value) {
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(3) : String(Number(value.toPrecision(6)));
}
// plotly reads a little HTML in its texts, so that names are escaped for it once more.
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const clip = (text, most = 40) =>
  text.length <= most ? text : text.slice(0, most / 2 - 1) + "…" + text.slice(text.length - most / 2);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
function tell(text) { $("announce").textContent = text; }

const curveCache = new Map();
function curve(run, name) {
  const stored = data.runs[run].curves;
  if (!stored.columns[name]) return null;
  const key = run + " " + name;
  if (!curveCache.has(key)) {
    const [grid, values, line] = stored.columns[name];
    const [k, seconds] = stored.grids[grid].map(floats);
    curveCache.set(key, { k, seconds, values: floats(values), line });
  }
  return curveCache.get(key);
}

// ---------------------------------------------------------------- convergence plots
const state = {
  x: "k", logx: true, kinds: { bound: true, theory: true, fit: true },
  runs: data.runs.map((run, index) => index).filter((index) => data.runs[index].plotted), hidden: new Set(),
};
const CONFIG = {
  displaylogo: false, displayModeBar: "hover", responsive: true,
  modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
};

function axis(extra) {
  return {
    gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--soft"), tickcolor: css("--soft"),
    exponentformat: "power", automargin: true, ...extra,
  };
}
function layout(x, y, extra = {}) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
    font: { color: css("--ink"), size: 13, family: "system-ui, sans-serif" }, margin: { l: 70, r: 15, t: 28, b: 45 },
    ...(printing ? { width: 640, height: 260 } : {}), autosize: !printing,
    hoverlabel: { namelength: 60 }, modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--ink") }, xaxis: axis(x), yaxis: axis(y), ...extra,
  };
}

// Eight can be told apart; whatever else is plotted is a thin grey line, which the legend has behind a click.
const STYLES = LIGHT.length;
function line(run, name, kind, values, source) {
  const index = slot(run), label = clip(data.runs[run].label), plain_ = index >= STYLES;
  const ink = plain_ ? css("--soft") : colour(index);
  return {
    type: "scatter", x: source[state.x], y: values, name: plain(kind === "fit" ? label + ", fit" : label + ": " + name),
    mode: kind === "measured" && !plain_ ? "lines+markers" : "lines",
    line: { color: ink, width: plain_ ? 1 : kind === "measured" ? 2 : 1.5, dash: DASHES[kind] || "solid" },
    marker: { symbol: SYMBOLS[index % SYMBOLS.length], size: 7, maxdisplayed: 7, color: ink },
    opacity: plain_ ? 0.6 : kind === "measured" ? 1 : 0.85, connectgaps: false,
    hovertemplate: (state.x === "k" ? "iteration %{x}" : "%{x:.4g} s") + "<br>%{y:.6g}",
    meta: { run, name, kind },
  };
}

const MANY = 12;
function traces(quantity) {
  const lines = [], visible = state.runs.filter((run) => !state.hidden.has(run));
  for (const run of visible) {
    const measured = curve(run, quantity.name);
    if (measured) lines.push(line(run, quantity.name, "measured", measured.values, measured));
    for (const [name, kind] of Object.entries(quantity.beside)) {
      const other = curve(run, name);
      if (other && state.kinds[kind === "floor" ? "theory" : kind]) lines.push(line(run, name, kind, other.values, other));
    }
    // Of many runs, the fits would hide the curves.
    if (measured && measured.line && quantity.fit && state.kinds.fit && visible.length <= MANY) {
      const [slope, intercept] = measured.line;
      // Drawn where it was fitted: over the last nine tenths of the iterations.
      const from = Math.max(1, 0.1 * measured.k.at(-1));
      const values = measured.k.map((k) => (k >= from ? Math.exp(intercept + slope * Math.log(k)) : null));
      const fitted = line(run, quantity.name, "fit", values, measured);
      fitted.hovertemplate = "slope " + slope.toFixed(2) + "<br>%{y:.4g}";
      lines.push(fitted);
    }
  }
  return lines;
}

// Early bounds may be a thousand times off, and early values zero but for rounding: on a linear axis the range is that
// of the objective and of the last bounds, on a logarithmic one the first values do not count for its lower end.
function range(lines, log) {
  let low = Infinity, high = -Infinity;
  for (const { y, meta } of lines) {
    const count = y.length, early = Math.min(3, count - 1);
    const from = log || meta.kind === "measured" ? early : count - 1;
    y.forEach((value, i) => {
      if (!isNumber(value)) return;
      if (i >= from) low = Math.min(low, value);
      if (i >= from || log) high = Math.max(high, value);
    });
  }
  if (log) [low, high] = [Math.log10(low), Math.log10(high)];
  const room = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
  return low <= high ? [low - room, high + room] : undefined;
}

function draw(figure) {
  const quantity = data.quantities[figure.dataset.quantity], plot = figure.querySelector(".plot");
  const log = figure.dataset.log === "true", lines = traces(quantity);
  let lost = 0;
  if (log) {
    for (const each of lines) {
      if (each.meta.kind === "measured") lost += each.y.filter((value) => isNumber(value) && value <= 0).length;
      each.y = each.y.map((value) => (value > 0 ? value : null));
    }
  }
  figure.querySelector(".note").textContent = lost ? `${lost} ${lost === 1 ? "value" : "values"} of zero or less ${lost === 1 ? "is" : "are"} not on the logarithmic axis.` : "";
  const x = { title: { text: state.x === "k" ? "iteration k" : "seconds" }, type: state.logx ? "log" : "linear" };
  const words = quantity.name.replace(/^metric_/, "").replaceAll("_", " ");
  const y = { type: log ? "log" : "linear", title: { text: plain(words), standoff: 6 } };
  if (log || Object.keys(quantity.beside).length) y.range = range(lines, log);
  // Between a decade and three there is room for 1, 2 and 5, and not for every digit.
  const decades = log && y.range ? y.range[1] - y.range[0] : 0;
  if (decades > 1 && decades < 3) y.nticks = Math.floor(decades / 0.35);
  Plotly.react(plot, lines, layout(x, y), CONFIG);
  describe(figure, plot, quantity, lines);
  if (!figure.dataset.drawn) performance.mark("cgm-plots");
  figure.dataset.drawn = "true";
  enableKeys(figure, plot);
}

// What the plot shows, in words: for those who see it as well as for those who do not.
function describe(figure, plot, quantity, lines) {
  const told = lines.filter((each) => each.meta.kind === "measured").map(({ meta: { run, name } }) => {
    const { k, values, line: fit } = curve(run, name);
    const slope = fit && quantity.fit ? `, slope ${fit[0].toFixed(2)}` : "";
    return `${clip(data.runs[run].label)} ends at ${show(Number(values.at(-1).toPrecision(4)))} after ${k.at(-1)} iterations${slope}`;
  });
  const more = (most) => (told.length > most ? `; and ${told.length - most} more` : "");
  figure.querySelector("figcaption").textContent = told.slice(0, 3).join("; ") + more(3);
  plot.setAttribute("aria-label", `${quantity.name}: ${quantity.label}. ${told.slice(0, 8).join("; ")}${more(8)}`);
}

// The arrow keys walk along a curve, and from curve to curve; what is there is shown and said.
function enableKeys(figure, plot) {
  if (plot.dataset.keys) return;
  plot.dataset.keys = "true";
  let at = { curve: 0, point: -1 };
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const lines = plot.data || [];
    if (!step || !lines.length) return;
    event.preventDefault();
    at.curve = (Math.min(at.curve, lines.length - 1) + step[0] + lines.length) % lines.length;
    const { x, y, meta } = lines[at.curve];
    let point = Math.min(at.point + step[1], y.length - 1);
    while (point > 0 && point < y.length - 1 && !isNumber(y[point])) point += step[1] || 1;
    at.point = Math.max(0, point);
    const where = state.x === "k" ? `iteration ${show(x[at.point])}` : `${show(x[at.point])} seconds`;
    Plotly.Fx.hover(plot, [{ curveNumber: at.curve, pointNumber: at.point }]);
    tell(`${clip(data.runs[meta.run].label)}: ${meta.name}${meta.kind === "fit" ? ", fitted" : ""}, ${where}: ${show(y[at.point])}`);
  });
}

const figures = all("figure[data-quantity]");
function redraw() {
  for (const figure of figures) if (figure.dataset.drawn) draw(figure);
}

// ---------------------------------------------------------------- legend and controls
function legend() {
  const list = $("legend"), more = $("legend-more");
  if (!list) return;
  for (const run of [...slots.keys()]) if (!state.runs.includes(run)) slots.delete(run);
  const styled = (run) => slot(run) < STYLES;
  list.replaceChildren(...state.runs.filter(styled).map(entry));
  const others = state.runs.filter((run) => !styled(run));
  more.hidden = !others.length;
  more.querySelector("summary").textContent = `and ${others.length} more, in grey`;
  more.querySelector("ul").replaceChildren(...others.map(entry));
}
function entry(run) {
  const item = document.createElement("li"), button = document.createElement("button");
  const index = slot(run), text = document.createElement("span"), sign = document.createElement("b");
  sign.textContent = index < STYLES ? GLYPHS[index] : "–";
  if (index < STYLES) sign.style.color = colour(index);
  sign.setAttribute("aria-hidden", "true");
  text.textContent = data.runs[run].label;
  button.type = "button";
  button.title = data.runs[run].label;
  button.setAttribute("aria-pressed", String(!state.hidden.has(run)));
  button.append(sign, text);
  button.addEventListener("click", () => {
    if (!state.hidden.delete(run)) state.hidden.add(run);
    button.setAttribute("aria-pressed", String(!state.hidden.has(run)));
    redraw();
  });
  item.append(button);
  return item;
}
function plotRuns(runs) {
  state.runs = runs;
  const wanted = new Set(runs);
  for (const box of all("#runs input[type=checkbox]")) box.checked = wanted.has(Number(box.value));
  legend();
  redraw();
}

function connectPlots() {
  for (const input of all("input[name=x]")) input.addEventListener("change", () => { state.x = input.value; redraw(); });
  for (const input of all("input[name=logx]")) {
    input.addEventListener("change", () => { state.logx = input.value === "log"; redraw(); });
  }
  for (const input of all("input[data-kind]")) {
    input.addEventListener("change", () => { state.kinds[input.dataset.kind] = input.checked; redraw(); });
  }
  for (const figure of figures) {
    const button = figure.querySelector("button.scale");
    button.addEventListener("click", () => {
      const log = figure.dataset.log !== "true";
      figure.dataset.log = String(log);
      button.setAttribute("aria-pressed", String(log));
      draw(figure);
    });
  }
}

// ---------------------------------------------------------------- the table
const rows = () => all("#runs tbody tr");
const shownRuns = () => rows().filter((row) => !row.hidden).map((row) => Number(row.dataset.run));

// The same language as --filter on the command line; words without an operator are looked for in the row.
const EXPRESSION = /^([^<>=!\s]+)(<=|>=|!=|==|=|<|>)(.+)$/;
function keyOf(name) {
  const keys = data.columns.map((column) => column.key);
  if (keys.includes(name)) return name;
  if (keys.includes("metric_" + name)) return "metric_" + name;
  const found = keys.filter((key) => key.endsWith("." + name));
  return found.length === 1 ? found[0] : null;
}
function condition(text) {
  const match = EXPRESSION.exec(text);
  if (!match) {
    const word = text.toLowerCase();
    return { holds: (run, row) => row.textContent.toLowerCase().includes(word) };
  }
  const key = keyOf(match[1]), wanted = match[3].replace(/^["']|["']$/g, ""), number = Number(wanted);
  if (key === null) return { fault: `there is no single column called ${match[1]}` };
  const compare = {
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
    "=": (a, b) => a === b, "==": (a, b) => a === b, "!=": (a, b) => a !== b,
  }[match[2]];
  const order = "<>".includes(match[2][0]);
  if (order && (wanted === "" || Number.isNaN(number))) return { fault: `${match[2]} needs a number, not ${wanted}` };
  return {
    holds: (run) => {
      const value = data.runs[run].values[key];
      if (value === null || value === undefined) return match[2] === "!=";
      if (typeof value === "number" && !Number.isNaN(number)) return compare(value, number);
      return !order && compare(String(value), wanted);
    },
  };
}
function filter(text) {
  const tokens = text.replace(/\s*(<=|>=|!=|==|=|<|>)\s*/g, "$1").split(/\s+/).filter(Boolean);
  const conditions = tokens.map(condition), faults = conditions.filter((each) => each.fault);
  for (const row of rows()) {
    const run = Number(row.dataset.run);
    row.hidden = !faults.length && !conditions.every((each) => each.holds(run, row));
  }
  const count = shownRuns().length;
  $("count").textContent = faults.length
    ? "Not a filter: " + faults.map((each) => each.fault).join("; ")
    : `${count} of ${data.runs.length} runs`;
  parameters();
}
function sortBy(header) {
  const key = header.dataset.key, down = header.getAttribute("aria-sort") === "ascending";
  for (const other of all("#runs th[aria-sort]")) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => data.runs[row.dataset.run].values[key];
  const missing = (item) => item === null || item === undefined || item === "";
  const order = (a, b) => {
    const [left, right] = [value(a), value(b)];
    if (missing(left) || missing(right)) return missing(left) - missing(right);
    const numbers = isNumber(left) && isNumber(right);
    const by = numbers ? left - right : isNumber(left) ? -1 : isNumber(right) ? 1 : String(left).localeCompare(String(right));
    return down ? -by : by;
  };
  $("runs").tBodies[0].append(...rows().sort(order));
  tell(`sorted by ${key}, ${down ? "descending" : "ascending"}`);
}
function connectTable() {
  if (!$("runs")) return;
  for (const header of all("#runs th[data-key]")) {
    header.querySelector("button").addEventListener("click", () => sortBy(header));
  }
  $("filter").addEventListener("input", (event) => filter(event.target.value));
  $("runs").addEventListener("change", () => {
    plotRuns(all("#runs input:checked").map((box) => Number(box.value)));
  });
  $("plot-first").addEventListener("click", () => plotRuns(shownRuns().slice(0, data.first)));
  $("plot-none").addEventListener("click", () => plotRuns([]));
}

// ---------------------------------------------------------------- parameters against results
function scale(key) {
  const logarithmic = data.logarithmic.includes(key);
  return { logarithmic, at: logarithmic ? Math.log10 : (value) => value };
}
function dimension(key, runs) {
  const values = runs.map((run) => data.runs[run].values[key]);
  const numbers = values.filter(isNumber);
  if (numbers.length && numbers.length === values.filter((value) => value !== null && value !== undefined).length) {
    const { at, logarithmic } = scale(key), places = numbers.map(at);
    const low = Math.min(...places), high = Math.max(...places), span = high - low || 1;
    const back = (place) => (logarithmic ? 10 ** (low + place * span) : low + place * span);
    const distinct = [...new Set(numbers)].sort((a, b) => a - b);
    const ticks = distinct.length <= 10 ? distinct.map((value) => [(at(value) - low) / span, show(value)])
      : [0, 0.25, 0.5, 0.75, 1].map((place) => [place, show(Number(back(place).toPrecision(2)))]);
    return { places: values.map((value) => (isNumber(value) ? (high > low ? (at(value) - low) / span : 0.5) : null)), ticks };
  }
  const kinds = [...new Set(values.map(String))].sort(), step = kinds.length > 1 ? 1 / (kinds.length - 1) : 0;
  const place = (value) => (kinds.length > 1 ? kinds.indexOf(String(value)) * step : 0.5);
  const ticks = kinds.length <= 12 ? kinds.map((kind) => [place(kind), clip(kind, 18)]) : [[0, clip(kinds[0], 18)], [1, clip(kinds.at(-1), 18)]];
  return { places: values.map(place), ticks };
}
function mix(part) {
  const [from, to] = dark.matches && !printing ? [[255, 190, 60], [70, 130, 235]] : [[214, 95, 0], [20, 60, 150]];
  return `rgb(${from.map((value, i) => Math.round(value + part * (to[i] - value))).join(",")})`;
}
const heading = (key) => (data.columns.find((column) => column.key === key) || { heading: key }).heading;

function drawParallel() {
  const plot = $("parallel-plot");
  if (!plot || !plot.dataset.seen) return;
  const metric = $("parallel-metric").value;
  const runs = shownRuns().filter((run) => isNumber(data.runs[run].values[metric]));
  const keys = [...data.axes, metric], dims = keys.map((key) => dimension(key, runs));
  const places = dims.at(-1).places, bins = 8, lines = [];
  // The lines of one shade make one trace, with gaps between them: a thousand traces would be slow.
  for (let bin = 0; bin < bins; bin++) {
    const x = [], y = [], text = [];
    runs.forEach((run, i) => {
      if (Math.min(bins - 1, Math.floor(places[i] * bins)) !== bin) return;
      const label = plain(clip(data.runs[run].label)) + "<br>" + keys.map((key) =>
        `${plain(heading(key))}: ${plain(clip(show(data.runs[run].values[key] ?? "none")))}`).join("<br>");
      dims.forEach((dim, at) => { x.push(at); y.push(dim.places[i]); text.push(label); });
      x.push(null); y.push(null); text.push("");
    });
    lines.push({ type: "scatter", mode: "lines+markers", x, y, text, hovertemplate: "%{text}<extra></extra>",
      line: { color: mix(bin / (bins - 1)), width: 1.4 }, marker: { size: 5 }, opacity: 0.75 });
  }
  const shapes = keys.map((key, at) => ({ type: "line", x0: at, x1: at, y0: 0, y1: 1, line: { color: css("--soft"), width: 1 } }));
  const annotations = dims.flatMap((dim, at) => dim.ticks.map(([place, text]) => ({
    x: at, y: place, text: plain(text), xanchor: at === keys.length - 1 ? "left" : "right", xshift: at === keys.length - 1 ? 6 : -6,
    showarrow: false, font: { size: 11, color: css("--ink") }, bgcolor: css("--panel"), opacity: 0.9,
  })));
  Plotly.react(plot, lines, layout(
    { tickvals: keys.map((key, at) => at), ticktext: keys.map((key) => plain(clip(heading(key), 22))), showgrid: false, zeroline: false,
      range: [-0.45, keys.length - 0.4], side: "top" },
    { visible: false, range: [-0.06, 1.06] }, { shapes, annotations, margin: { l: 20, r: 40, t: 64, b: 10 } }), CONFIG);
  plot.setAttribute("aria-label", `Parallel coordinates of ${runs.length} runs over ${keys.map(heading).join(", ")}. The table above has the same values.`);
}

// A table, because that is what a map of two parameters is: it is read, searched and printed like any other.
const RAMP = [[253, 231, 37], [94, 201, 98], [33, 145, 140], [59, 82, 139], [68, 1, 84]];
function shade(part) {
  const at = part * (RAMP.length - 1), from = Math.min(RAMP.length - 2, Math.floor(at));
  const rgb = RAMP[from].map((value, i) => Math.round(value + (at - from) * (RAMP[from + 1][i] - value)));
  const [r, g, b] = rgb.map((value) => (value <= 10 ? value / 3295 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  // Black or white, whichever stands out more.
  return [`rgb(${rgb.join(",")})`, 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff"];
}
function element(tag, text, more = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...more });
}
function drawHeat() {
  const table = $("heat-plot");
  if (!table || !table.dataset.seen) return;
  const [kx, ky, metric] = ["heat-x", "heat-y", "heat-metric"].map((id) => $(id).value);
  const sign = data.metrics[metric] || -1;
  const runs = shownRuns().filter((run) => isNumber(data.runs[run].values[metric]));
  const kinds = (key) => [...new Set(runs.map((run) => data.runs[run].values[key] ?? "none"))]
    .sort((a, b) => (isNumber(a) && isNumber(b) ? a - b : String(a).localeCompare(String(b))));
  const [xs, ys] = [kinds(kx), kinds(ky)];
  const cells = ys.map(() => xs.map(() => null)), counts = ys.map(() => xs.map(() => 0));
  for (const run of runs) {
    const { values } = data.runs[run];
    const i = ys.indexOf(values[ky] ?? "none"), j = xs.indexOf(values[kx] ?? "none"), value = values[metric];
    counts[i][j]++;
    if (cells[i][j] === null || sign * value > sign * cells[i][j]) cells[i][j] = value;
  }
  const known = cells.flat().filter((value) => value !== null);
  const top = known.length ? known.reduce((a, b) => (sign * b > sign * a ? b : a)) : null;
  const { at } = scale(metric);
  const low = Math.min(...known.map(at)), span = Math.max(...known.map(at)) - low || 1;
  const row = (...cells) => { const tr = element("tr", ""); tr.append(...cells); return tr; };
  const head = element("thead", ""), body = element("tbody", "");
  head.append(row(element("th", `${heading(ky)} \\ ${heading(kx)}`, { scope: "col" }),
    ...xs.map((value) => element("th", clip(show(value), 18), { scope: "col", title: show(value) }))));
  ys.forEach((value, i) => body.append(row(element("th", clip(show(value), 18), { scope: "row", title: show(value) }),
    ...cells[i].map((each, j) => {
      if (each === null) return element("td", "-");
      const cell = element("td", show(Number(each.toPrecision(3))) + (each === top ? "*" : ""));
      const better = (at(each) - low) / span;
      [cell.style.background, cell.style.color] = shade(sign < 0 ? 1 - better : better);
      cell.title = `${heading(metric)}: ${show(each)}, ${counts[i][j]} ${counts[i][j] === 1 ? "run" : "runs"}`;
      return cell;
    }))));
  const best = cells.findIndex((each) => each.includes(top));
  const told = top === null ? "No run has a value." :
    `${heading(metric)} over ${heading(kx)} and ${heading(ky)}. Best: ${show(top)} at ${heading(kx)} ` +
    `${show(xs[cells[best].indexOf(top)])}, ${heading(ky)} ${show(ys[best])}.`;
  table.replaceChildren(element("caption", told), head, body);
}
function parameters() { if (window.Plotly) { drawParallel(); drawHeat(); } }
function connectParameters() {
  for (const select of all("#parameters select")) select.addEventListener("change", parameters);
}

// ---------------------------------------------------------------- pictures
function drawPicture(plot) {
  const picture = data.pictures[plot.dataset.picture], small = printing ? { width: 300, height: 300 } : {};
  if (picture.kind === "points" || picture.kind === "network") {
    const groups = [...new Set(picture.group)].sort((a, b) => a - b);
    const lines = groups.map((group, index) => {
      const inside = picture.group.map((other, i) => (other === group ? i : -1)).filter((i) => i >= 0);
      return {
        type: "scatter", mode: "markers", name: `group ${group}`, x: inside.map((i) => picture.x[i]), y: inside.map((i) => picture.y[i]),
        text: inside.map((i) => `number ${picture.numbers[i]}`), hovertemplate: "%{text}",
        marker: { color: colour(index), symbol: SYMBOLS[(index + Math.floor(index / LIGHT.length)) % SYMBOLS.length], size: 6, opacity: 0.75 },
      };
    });
    const hide = picture.kind === "network" ? { visible: false } : {};
    if (picture.kind === "network") {
      const ways = ([x, y], color, width) => ({ type: "scatter", mode: "lines", x, y, line: { color, width }, opacity: 0.5, hoverinfo: "skip" });
      lines.unshift(ways(picture.within, css("--line"), 1), ways(picture.across, colour(4), 0.7));
    }
    Plotly.react(plot, lines, layout({ zeroline: false, ...hide }, { zeroline: false, scaleanchor: "x", ...hide }, small), CONFIG);
  } else if (picture.kind === "signal") {
    Plotly.react(plot, [{ type: "bar", x: picture.numbers, y: picture.values, marker: { color: colour(0) }, hovertemplate: "entry %{x}<br>%{y:.5g}<extra></extra>" }],
      layout({ title: { text: "entry" }, showgrid: false }, {}, small), CONFIG);
  } else if (picture.kind === "path") {
    const [sx, sy] = picture.solution, r = picture.radius, angles = Array.from({ length: 181 }, (_, i) => (i * Math.PI) / 90);
    Plotly.react(plot, [
      { type: "scatter", mode: "lines", x: picture.contours[0], y: picture.contours[1], line: { color: css("--line"), width: 1 }, hoverinfo: "skip" },
      { type: "scatter", mode: "lines", x: angles.map((a) => r * Math.cos(a)), y: angles.map((a) => r * Math.sin(a)), line: { color: css("--soft") }, hoverinfo: "skip" },
      { type: "scatter", mode: "lines+markers", name: "path", x: picture.x, y: picture.y, text: picture.k.map((k) => `iteration ${k}`),
        line: { color: colour(0), width: 1.5 }, marker: { size: 5, color: colour(0) }, hovertemplate: "%{text}<br>(%{x:.4f}, %{y:.4f})" },
      { type: "scatter", mode: "markers", name: "solution", x: [sx], y: [sy], marker: { symbol: "star", size: 15, color: colour(1) }, hovertemplate: "(%{x:.4f}, %{y:.4f})" },
    ], layout({ title: { text: "x_1" }, zeroline: false }, { title: { text: "x_2" }, zeroline: false, scaleanchor: "x" }, small), CONFIG);
  }
}

// ---------------------------------------------------------------- the start
function whenSeen(elements, act) {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); act(entry.target); }
  }, { rootMargin: "800px" });
  elements.forEach((element) => watcher.observe(element));
}
function begin() {
  // Run here and not by the parser, so that what the page says is on the screen before a megabyte is read.
  const script = document.createElement("script");
  script.textContent = $("plotly").textContent;
  document.head.append(script);
  whenSeen(figures, draw);
  whenSeen(all(".plot[data-picture]"), (plot) => { plot.dataset.seen = "true"; drawPicture(plot); });
  whenSeen(["parallel-plot", "heat-plot"].map($).filter(Boolean), (plot) => { plot.dataset.seen = "true"; parameters(); });
  scheme.addEventListener("change", () => {
    legend();
    redraw();
    parameters();
    all(".plot[data-picture][data-seen]").forEach(drawPicture);
  });
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  document.documentElement.dataset.ready = "true";
}
// On paper everything is there that is unfolded, seen before or not, in dark ink and no wider than the paper.
function paper(on) {
  printing = on;
  for (const each of all(".plot[data-picture], #parallel-plot, #heat-plot")) each.dataset.seen = "true";
  legend();
  figures.forEach(draw);
  parameters();
  all(".plot[data-picture]").forEach(drawPicture);
}
// A page of runs that go on loads itself again, unless it is held; where one was on it is kept by the browser.
function connectWatch() {
  if (!data.again) return;
  const hold = $("hold");
  hold.addEventListener("click", () => hold.setAttribute("aria-pressed", String(hold.getAttribute("aria-pressed") !== "true")));
  setInterval(() => { if (hold.getAttribute("aria-pressed") !== "true") location.reload(); }, 1000 * data.again);
}
legend();
connectWatch();
connectPlots();
connectTable();
connectParameters();
requestAnimationFrame(() => setTimeout(begin, 0));
