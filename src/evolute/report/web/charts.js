// Draws a chart that Python describes (report/figures/chart.py) on a canvas: axes with units, series, hover.
"use strict";
const Charts = (() => {
  // Okabe and Ito's colours, which people with colour-blindness can tell apart.
  const CYCLE = ["--member", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7a00", "#7f7f7f"];
  const ROLES = {
    winner: { css: "--winner", width: 2.6, order: 4 },
    member: { css: "--member", width: 1, order: 1 },
    living: { css: "--living", width: 1.2, order: 2 },
    extinct: { css: "--extinct", width: 1, order: 0 },
    takeover: { css: "--takeover", width: 1, order: 3 },
    teacher: { css: "--teacher", width: 1, order: 3 },
    border: { css: "--border-line", width: 1.2, order: 0 },
    failure: { css: "--failure", width: 1.5, order: 5 },
  };
  const LEGEND = { member: "each member", living: "line with living descendants", extinct: "line that died out" };
  const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

  function create(tag, props, ...children) {
    const made = Object.assign(document.createElement(tag), props || {});
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  function number(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (Number.isSafeInteger(value)) return value.toLocaleString("en");
    if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return Number(value.toPrecision(4)).toExponential();
    return value.toLocaleString("en", { maximumSignificantDigits: 5 });
  }

  function tick(value) {
    const size = Math.abs(value);
    if (value === 0) return "0";
    for (const [limit, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
      if (size >= limit) return Number((value / (letter === "k" ? 1e3 : limit)).toPrecision(4)) + letter;
    }
    return size < 1e-3 ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(6)));
  }

  function range(values, log) {
    let low = Infinity, high = -Infinity;
    for (const list of values) for (const value of list) {
      if (value === null || (log && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (low === Infinity) return log ? [0.1, 1] : [0, 1];
    if (low === high) return log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
    return [low, high];
  }

  function linearTicks(low, high, count) {
    const rough = (high - low) / Math.max(count, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((candidate) => candidate >= rough);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(k * step);
    return ticks;
  }

  function logTicks(low, high) {
    const ticks = [];
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const factors = last - first <= 2 ? [1, 2, 5] : [1];
    for (let power = first; power <= last; power++) for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
    return ticks.length > 1 ? ticks : [low, high].map((value) => Number(value.toPrecision(3)));
  }

  function scale(axis, values, from, to, padding, zero, dense) {
    let [low, high] = range(values, axis.log);
    if (axis.categories.length) [low, high] = [-0.5, axis.categories.length - 0.5];
    else if (zero) low = Math.min(low, 0), high = Math.max(high, 0) || 1;
    const warp = axis.log ? Math.log : (value) => value;
    const unwarp = axis.log ? Math.exp : (value) => value;
    let [a, b] = [warp(low), warp(high)];
    if (!axis.categories.length) { const more = (b - a) * padding; a -= zero && low === 0 ? 0 : more; b += more; }
    const place = (value) => from + ((warp(value) - a) / (b - a)) * (to - from);
    const count = Math.abs(to - from) / (Math.abs(from) < Math.abs(to) ? 90 : 40);
    let ticks;
    if (axis.categories.length) {
      const every = Math.max(1, Math.ceil(axis.categories.length / Math.max(count * (dense ? 2.6 : 1.5), 1)));
      ticks = axis.categories.map((word, at) => [at, word]).filter((_, at) => at % every === 0);
    } else {
      const found = axis.log ? logTicks(unwarp(a), unwarp(b)) : linearTicks(a, b, count);
      ticks = found.map((value) => [value, tick(value)]);
    }
    return { place, ticks };
  }

  class Chart {
    // `link` gives the address of a member's page, where there are such pages.
    constructor(spec, link) {
      this.link = link;
      this.element = create("section", { className: "chart" });
      this.element.dataset.key = spec.key;
      this.title = create("h3");
      this.canvas = create("canvas");
      this.canvas.setAttribute("role", "img");
      this.legend = create("div", { className: "legend" });
      this.note = create("p", { className: "note" });
      this.tip = create("div", { className: "tip", hidden: true });
      this.frame = create("div", { className: "frame" }, this.canvas, this.tip);
      this.story = create("p", { className: "story", hidden: true });
      this.element.append(this.title, this.frame, this.story, this.legend, this.note);
      this.canvas.addEventListener("mousemove", (event) => this.hover(event));
      this.canvas.addEventListener("mouseleave", () => this.leave());
      this.canvas.addEventListener("click", (event) => this.pick(event.offsetX, event.offsetY));
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(this.frame);
      this.near = this.picked = null;
      this.update(spec);
    }

    update(spec) {
      this.spec = spec;
      this.picked = null;
      this.story.hidden = true;
      this.title.textContent = spec.title;
      this.note.textContent = spec.note || "";
      this.canvas.setAttribute("aria-label", `${spec.title}: ${spec.y.label} over ${spec.x.label || "names"}`);
      let plain = 0;
      this.styles = spec.series.map((series) => {
        const role = ROLES[series.role];
        if (role) return { ...role, dash: [] };
        const at = plain++;
        const colour = CYCLE[at % CYCLE.length];
        return { ...(colour.startsWith("--") ? { css: colour } : { colour }), solid: true, dash: DASHES[Math.floor(at / CYCLE.length) % DASHES.length], width: 1.8, order: 2 };
      });
      this.order = spec.series.map((_, at) => at).sort((a, b) => this.styles[a].order - this.styles[b].order);
      this.describe();
      this.draw();
    }

    colour(at) {
      const style = this.styles[at];
      return style.colour || getComputedStyle(this.element).getPropertyValue(style.css).trim() || "#888";
    }

    describe() {
      const seen = new Set();
      this.legend.replaceChildren();
      if (this.spec.series.length < 2) return;
      this.spec.series.forEach((series, at) => {
        const name = LEGEND[series.role] && (series.kind === "line" || series.kind === "steps") ? LEGEND[series.role] : series.role === "winner" ? series.name.replace(/ \(member \d+\)$/, "") : series.name;
        if (seen.has(name)) return;
        seen.add(name);
        const mark = create("i");
        mark.style.background = this.styles[at].colour || `var(${this.styles[at].css})`;
        this.legend.append(create("span", {}, mark, name));
      });
    }

    draw() {
      const width = this.frame.clientWidth, height = Math.max(220, Math.min(340, width * 0.55));
      if (!width) return;
      const ratio = window.devicePixelRatio || 1;
      this.canvas.style.height = `${height}px`;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      const context = this.canvas.getContext("2d");
      context.scale(ratio, ratio);
      const { spec } = this;
      const css = getComputedStyle(this.element);
      const ink = css.getPropertyValue("--ink").trim(), grid = css.getPropertyValue("--grid").trim();
      const bars = spec.series.some((series) => series.kind === "bars");
      this.cells = spec.series.some((series) => series.kind === "cells");
      context.font = "12px system-ui, sans-serif";
      const longest = Math.max(0, ...spec.x.categories.map((w) => context.measureText(w).width));
      const slanted = bars && longest > 24 && longest > width / spec.x.categories.length - 20;
      const box = { left: 0, right: width - 12, top: 10, bottom: height - (slanted ? 90 : 42) };
      const spreads = spec.series.filter((series) => series.spread).map((series) => series.y.flatMap((y, at) => y === null ? [] : [y - series.spread[at], y + series.spread[at]]));
      const traced = this.picked === null ? [[], []] : spec.series[this.picked.at].lines[this.picked.k];
      const ys = scale(spec.y, [...spec.series.map((series) => series.y), ...spreads, traced[1]], box.bottom, box.top, 0.04, bars, this.cells);
      const wide = Math.max(56, Math.min(this.cells && width > 480 ? 220 : 150, Math.max(...ys.ticks.map(([, text]) => context.measureText(text).width)) + 30));
      box.left = wide;
      this.box = box;
      const xs = scale(spec.x, [...spec.series.map((series) => series.x), traced[0]], box.left, box.right, bars ? 0.03 : 0.01, false, this.cells);
      Object.assign(this, { px: xs.place, py: ys.place });
      context.clearRect(0, 0, width, height);
      context.strokeStyle = grid;
      context.fillStyle = ink;
      context.lineWidth = 1;
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (const [value, text] of ys.ticks) {
        const y = Math.round(ys.place(value)) + 0.5;
        if (!this.cells) { context.beginPath(); context.moveTo(box.left, y); context.lineTo(box.right, y); context.stroke(); }
        context.fillText(clipped(context, text, wide - 26), box.left - 6, y);
      }
      context.textBaseline = "top";
      let taken = -Infinity;
      for (const [value, text] of xs.ticks) {
        const x = Math.round(xs.place(value)) + 0.5;
        context.beginPath(); context.moveTo(x, box.bottom); context.lineTo(x, box.bottom + 4); context.stroke();
        if (slanted) {
          context.save(); context.translate(x, box.bottom + 8); context.rotate(-Math.PI / 5); context.textAlign = "right";
          context.fillText(clipped(context, text, 100), 0, 0); context.restore();
        } else {
          const half = context.measureText(text).width / 2;
          if (x - half < taken + 4) continue;
          taken = x + half;
          context.textAlign = "center";
          context.fillText(clipped(context, text, 160), Math.min(x, width - half - 2), box.bottom + 7);
        }
      }
      context.textAlign = "center";
      if (!slanted) context.fillText(spec.x.label, (box.left + box.right) / 2, height - 15);
      context.save(); context.translate(2, (box.top + box.bottom) / 2); context.rotate(-Math.PI / 2);
      context.fillText(clipped(context, spec.y.label, box.bottom - box.top), 0, 0); context.restore();
      context.save();
      context.beginPath(); context.rect(box.left, box.top - 4, box.right - box.left + 4, box.bottom - box.top + 8); context.clip();
      const crowd = spec.series.filter((series) => series.role === "member" || series.role === "living").length;
      spec.series.forEach((series, at) => {
        if (!series.spread || series.role !== "winner") return;
        context.fillStyle = this.colour(at);
        this.band(context, series);
      });
      for (const at of this.order) this.stroke(context, at, ink, crowd > 40 ? 0.35 : crowd > 12 ? 0.6 : 0.85);
      if (this.picked !== null) this.trace(context, ink);
      if (this.near !== null && this.near.at < spec.series.length) this.mark(context);
      context.restore();
    }

    stroke(context, at, ink, faint) {
      const series = this.spec.series[at], style = this.styles[at], { px, py } = this;
      const emphasised = this.near !== null && this.near.at === at;
      const log = this.spec.y.log;
      context.strokeStyle = context.fillStyle = this.colour(at);
      context.globalAlpha = emphasised || style.order > 2 || style.solid ? 1 : style.order === 0 ? 0.7 : faint;
      context.lineWidth = style.width + (emphasised ? 1.4 : 0);
      context.setLineDash(style.dash);
      context.lineJoin = "round";
      if (series.kind === "cells") {
        this.fill(context, series, ink);
      } else if (series.kind === "bars") {
        const gap = this.spec.x.categories.length ? (px(1) - px(0)) * 0.7 : Math.max(2, Math.min(14, (px(1) - px(0)) * 0.8 || 6));
        series.x.forEach((x, k) => { if (series.y[k] !== null) context.fillRect(px(x) - gap / 2, py(series.y[k]), gap, py(0) - py(series.y[k])); });
      } else if (series.kind === "points") {
        series.x.forEach((x, k) => {
          if (series.y[k] === null) return;
          if (series.spread) { context.beginPath(); context.moveTo(px(x), py(series.y[k] - series.spread[k])); context.lineTo(px(x), py(series.y[k] + series.spread[k])); context.stroke(); }
          if (series.role === "failure") { context.font = "bold 13px sans-serif"; context.textAlign = "center"; context.textBaseline = "middle"; context.fillText("✕", px(x), py(series.y[k])); return; }
          context.beginPath(); context.arc(px(x), py(series.y[k]), 3.2, 0, 7); context.fill();
        });
      } else {
        if (series.spread && emphasised && style.order <= 2) this.band(context, series);
        context.beginPath();
        let pen = false, last = 0;
        for (let k = 0; k < series.x.length; k++) {
          const value = series.y[k];
          if (value === null || series.x[k] === null || (log && value <= 0)) { pen = false; continue; }
          const x = px(series.x[k]), y = py(value);
          if (series.kind === "links" ? k % 2 === 0 : !pen) context.moveTo(x, y);
          else { if (series.kind === "steps") context.lineTo(x, last); context.lineTo(x, y); }
          pen = true; last = y;
        }
        context.stroke();
        if (series.x.length === 1 && pen) { context.beginPath(); context.arc(px(series.x[0]), last, 3, 0, 7); context.fill(); }
      }
      context.globalAlpha = 1;
      context.setLineDash([]);
    }

    // A heat map: values above 0 in the members' colour, those below in the winner's, the farther from 0 the stronger.
    fill(context, series, ink) {
      const css = getComputedStyle(this.element), { px, py } = this;
      const above = css.getPropertyValue("--member").trim(), below = css.getPropertyValue("--winner").trim();
      const paper = css.getPropertyValue("--paper").trim();
      const wide = px(1) - px(0), high = py(0) - py(1);
      context.textAlign = "center"; context.textBaseline = "middle"; context.font = "12px system-ui, sans-serif";
      const room = series.labels && high > 14 && wide > 24;
      series.x.forEach((x, k) => {
        const value = series.values[k];
        if (value === null) return;
        context.fillStyle = value >= 0 ? above : below;
        context.globalAlpha = 0.06 + 0.94 * Math.abs(value);
        context.fillRect(px(x) - wide / 2 + 0.5, py(series.y[k]) - high / 2 + 0.5, wide - 1, high - 1);
        if (!room) return;
        context.globalAlpha = 1;
        context.fillStyle = Math.abs(value) > 0.6 ? paper : ink;
        context.fillText(series.labels[k], px(x), py(series.y[k]) + 1);
      });
    }

    band(context, series) {
      const { px, py } = this, known = series.x.map((_, k) => k).filter((k) => series.y[k] !== null);
      const edge = (k, sign) => context.lineTo(px(series.x[k]), py(series.y[k] + sign * series.spread[k]));
      const before = context.globalAlpha;
      context.globalAlpha = 0.2;
      context.beginPath();
      known.forEach((k) => edge(k, 1));
      known.reverse().forEach((k) => edge(k, -1));
      context.closePath(); context.fill();
      context.globalAlpha = before;
    }

    // The line of descent of the point that was clicked, from fresh weights on.
    trace(context, ink) {
      const [xs, ys] = this.spec.series[this.picked.at].lines[this.picked.k];
      context.strokeStyle = context.fillStyle = ink;
      context.lineWidth = 1.6;
      context.beginPath();
      xs.forEach((x, k) => context.lineTo(this.px(x), this.py(ys[k])));
      context.stroke();
      xs.forEach((x, k) => { context.beginPath(); context.arc(this.px(x), this.py(ys[k]), k === xs.length - 1 ? 5 : 2, 0, 7); context.fill(); });
    }

    pick(x, y) {
      if (!this.spec.series.some((series) => series.lines)) return;
      const near = this.px ? this.nearest(x, y, true) : null;
      const series = near === null ? null : this.spec.series[near.at];
      this.picked = near;
      this.story.hidden = this.picked === null;
      if (this.picked !== null) {
        const member = series.members[near.k];
        const page = this.link ? [" – ", create("a", { href: this.link(member), textContent: `page of member ${member}` })] : [];
        this.story.replaceChildren(series.stories[near.k], ...page);
      }
      this.draw();
    }

    mark(context) {
      const { at, k } = this.near, series = this.spec.series[at];
      if (series.kind === "cells") {
        const wide = this.px(1) - this.px(0), high = this.py(0) - this.py(1);
        context.strokeStyle = getComputedStyle(this.element).getPropertyValue("--ink").trim();
        context.lineWidth = 2;
        context.strokeRect(this.px(series.x[k]) - wide / 2 + 1, this.py(series.y[k]) - high / 2 + 1, wide - 2, high - 2);
        return;
      }
      context.fillStyle = this.colour(at);
      context.beginPath(); context.arc(this.px(series.x[k]), this.py(series.y[k]), 4.5, 0, 7); context.fill();
    }

    // The point next to a place, among all series or among those whose points have a line of descent.
    nearest(x, y, traced) {
      let found = null, least = 30 * 30;
      if (this.cells) {
        const { x: xs, y: ys } = this.spec.series[0], wide = this.px(1) - this.px(0), high = this.py(0) - this.py(1);
        const k = xs.findIndex((_, at) => Math.abs(this.px(xs[at]) - x) <= wide / 2 && Math.abs(this.py(ys[at]) - y) <= high / 2);
        return k < 0 ? null : { at: 0, k };
      }
      this.spec.series.forEach((series, at) => {
        if (traced && !series.lines) return;
        const bars = series.kind === "bars";
        for (let k = 0; k < series.x.length; k++) {
          if (series.y[k] === null) continue;
          const dx = (this.px(series.x[k]) - x) * (bars ? 0.2 : 1), dy = bars ? 0 : this.py(series.y[k]) - y;
          const distance = dx * dx + dy * dy - this.styles[at].order;
          if (distance < least) { least = distance; found = { at, k }; }
        }
      });
      return found;
    }

    hover(event) {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.point(event.offsetX, event.offsetY); });
    }

    point(x, y) {
      const before = this.near;
      this.near = this.px ? this.nearest(x, y) : null;
      this.tip.hidden = this.near === null;
      if (this.near !== null) {
        const { at, k } = this.near, series = this.spec.series[at], { x: xa, y: ya } = this.spec;
        const label = (axis, value) => axis.categories.length ? axis.categories[value] : number(value);
        if (series.texts && (series.kind === "cells" || series.kind === "links")) this.tip.replaceChildren(create("div", { textContent: series.texts[k] }));
        else this.tip.replaceChildren(
          create("b", { textContent: series.name }),
          create("div", { textContent: xa.categories.length ? label(xa, series.x[k]) : `${xa.label}: ${label(xa, series.x[k])}` }),
          create("div", { textContent: `${ya.label}: ${label(ya, series.y[k])}` }),
          series.texts && series.texts[k] ? create("div", { textContent: series.texts[k] }) : null || "",
        );
        const left = this.px(series.x[k]), room = this.frame.clientWidth;
        this.tip.style.left = left > room / 2 ? "" : `${left + 12}px`;
        this.tip.style.right = left > room / 2 ? `${room - left + 12}px` : "";
        this.tip.style.top = `${Math.max(0, this.py(series.y[k]) - 30)}px`;
      }
      if (JSON.stringify(before) !== JSON.stringify(this.near)) this.draw();
    }

    leave() { this.near = null; this.tip.hidden = true; this.draw(); }
  }

  function clipped(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && context.measureText(cut + "…").width > width) cut = cut.slice(0, -1);
    return cut + "…";
  }

  // A table whose columns sort at a click on their heads; rows are lists of values, null sorts last.
  function sortable(columns, rows, options) {
    const head = create("tr"), body = create("tbody");
    const table = create("table", {}, create("thead", {}, head), body);
    let chosen = (options && options.sort) ?? 0, falling = Boolean(options && options.falling);
    const fill = () => {
      const order = rows.map((_, at) => at).sort((a, b) => compare(rows[a][chosen], rows[b][chosen], falling) || a - b);
      body.replaceChildren(...order.map((at) => {
        const line = create("tr", { className: options && options.mark && options.mark(rows[at]) ? "best" : "" });
        rows[at].forEach((value, column) => {
          const shown = options && options.cell ? options.cell(value, column, rows[at]) : null;
          line.append(create("td", { className: typeof value === "number" ? "number" : "" }, shown ?? number(value)));
        });
        return line;
      }));
      [...head.children].forEach((cell, at) => {
        cell.className = rows.some((row) => typeof row[at] === "number") ? "number" : "";
        cell.setAttribute("aria-sort", at !== chosen ? "none" : falling ? "descending" : "ascending");
      });
    };
    columns.forEach((name, at) => {
      const button = create("button", { type: "button", textContent: name });
      button.addEventListener("click", () => { falling = at === chosen ? !falling : false; chosen = at; fill(); });
      head.append(create("th", {}, button));
    });
    fill();
    table.refill = (fresh) => { rows = fresh; fill(); };
    return table;
  }

  function compare(a, b, falling) {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return falling ? -order : order;
  }

  return { Chart, create, number, sortable };
})();
