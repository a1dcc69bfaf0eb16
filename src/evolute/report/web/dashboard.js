// The dashboard: a list of runs, one run, or a comparison, by what follows the # in the address; live by events.
"use strict";
(() => {
  const { Chart, create, number, sortable } = Charts;
  const main = document.querySelector("main"), trail = document.getElementById("trail"), line = document.getElementById("line");
  const chosen = new Set();
  let view = null;

  async function ask(path) {
    for (;;) {
      const answer = await fetch(path);
      const found = await answer.json();
      if (answer.status === 202) { await new Promise((resolve) => setTimeout(resolve, 500)); continue; }
      if (!answer.ok) throw new Error(found.error || answer.statusText);
      return found;
    }
  }

  const link = (path, text) => create("a", { href: `#/${path}`, textContent: text });
  const seconds = (value) => value < 90 ? `${Math.round(value)} s` : value < 5400 ? `${Math.round(value / 60)} min` : value < 172800 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} days`;
  const bytes = (value) => value < 1e6 ? `${number(Math.round(value / 1e3))} kB` : `${number(Math.round(value / 1e5) / 10)} MB`;

  // The list of runs.
  function listView() {
    const columns = ["compare", "run", "state", "best score", "turns", "learner", "strategy", "age", "size"];
    const rows = (runs) => runs.map((run) => [run.id, run.run, run.status, run.score, run.turns, run.learner ?? null, run.strategy ?? null, run.age, run.size]);
    const go = create("button", { type: "button", className: "go", textContent: "compare the chosen runs", disabled: chosen.size < 2 });
    go.addEventListener("click", () => { location.hash = `#/compare/${[...chosen].map(encodeURIComponent).join(",")}`; });
    const cell = (value, column, row) => {
      if (column === 0) {
        const box = create("input", { type: "checkbox", checked: chosen.has(value), ariaLabel: `compare ${row[1]}` });
        box.addEventListener("change", () => { box.checked ? chosen.add(value) : chosen.delete(value); go.disabled = chosen.size < 2; });
        return box;
      }
      if (column === 1) return link(`run/${encodeURIComponent(row[0])}`, value);
      if (column === 2) return create("span", { className: `status ${value}`, textContent: value });
      return column === 7 ? seconds(value) : column === 8 ? bytes(value) : null;
    };
    let table = null;
    return {
      concerns: () => true,
      async refresh() {
        const runs = await ask("/api/runs");
        if (table) { table.refill(rows(runs)); return; }
        table = sortable(columns, rows(runs), { sort: 7, cell });
        main.replaceChildren(create("h1", { textContent: "Runs" }), create("div", { className: "scroll runs" }, table), create("p", {}, go),
          runs.length ? "" : create("p", { textContent: "There are no runs here yet." }));
      },
    };
  }

  // One run.
  function runView(id) {
    const path = encodeURIComponent(id);
    let page = null;
    main.replaceChildren(create("p", { className: "soft", textContent: `reading ${id} …` }));
    return {
      concerns: (changed) => changed.includes(id),
      async refresh() {
        const run = await ask(`/api/run/${path}`);
        if (run.stale) setTimeout(refresh, 1000);
        if (page) { page.update(run); return; }
        const root = create("div");
        const files = run.downloads.map((name) => create("a", { href: `/download/${path}/${name}`, textContent: name }));
        main.replaceChildren(root, create("p", { className: "downloads" }, "download: ", ...files.flatMap((file) => [file, " "])));
        page = new RunPage.Page(root, run, (slot) => `#/run/${path}/${slot}`);
        if (run.steerable && run.status === "running") root.querySelector(".members").closest("section").after(SteerForm.make(path, run));
        RunPage.redraw(page);
      },
    };
  }

  // One member of a run. Its video is recorded when asked for, which takes a while.
  function memberView(id, slot) {
    const path = encodeURIComponent(id);
    main.replaceChildren(create("p", { className: "soft", textContent: `reading member ${slot} of ${id} …` }));
    const video = create("div"), said = create("p", { className: "soft" });
    const record = create("button", { type: "button", textContent: "record an episode" });
    video.append(record, said);
    record.addEventListener("click", async () => {
      record.disabled = true;
      said.textContent = "recording …";
      const answer = await fetch(`/download/${path}/member-${slot}.gif`);
      if (answer.ok) {
        const reader = new FileReader();
        reader.addEventListener("load", () => video.replaceChildren(create("img", { src: reader.result, alt: `an episode of member ${slot}` })));
        reader.readAsDataURL(new Blob([await answer.arrayBuffer()], { type: "image/gif" }));
      } else {
        said.textContent = (await answer.json()).error;
        record.disabled = false;
      }
    });
    return {
      concerns: (changed) => changed.includes(id),
      async refresh() {
        const member = await ask(`/api/run/${path}/member/${slot}`);
        MemberPage.show(main, member, { back: `#/run/${path}`, video: member.plays ? video : null });
      },
    };
  }

  // Several runs.
  function compareView(ids) {
    const charts = new Map();
    let shown = null;
    main.replaceChildren(create("p", { className: "soft", textContent: "comparing …" }));
    return {
      concerns: (changed) => changed.some((id) => ids.includes(id)),
      async refresh() {
        const found = await ask(`/api/compare?${ids.map((id) => `run=${encodeURIComponent(id)}`).join("&")}`);
        const interval = (one) => one.low === null ? "–" : `${number(one.low)} to ${number(one.high)}`;
        const arms = found.arms.map((arm) => [arm.name, arm.runs.join(", "), arm.iqm.value, interval(arm.iqm), arm.mean]);
        const pairs = found.pairs.map((pair) => [pair.one, pair.other, pair.better.value, interval(pair.better)]);
        if (!shown) {
          shown = { arms: sortable(["arm", "runs", "interquartile mean", "95 % interval", "mean"], arms, { sort: 2, falling: true }),
            pairs: sortable(["a run of", "ends better than one of", "probability", "95 % interval"], pairs), grid: create("div", { className: "grid" }) };
          main.replaceChildren(create("h1", { textContent: "Comparison" }), create("div", { className: "scroll" }, shown.arms), create("h2", { textContent: "Probability of improvement" }),
            create("div", { className: "scroll" }, shown.pairs), create("p", { className: "soft", textContent: found.note }), shown.grid);
        }
        shown.arms.refill(arms);
        shown.pairs.refill(pairs);
        for (const spec of found.charts) {
          if (charts.has(spec.key)) { charts.get(spec.key).update(spec); continue; }
          charts.set(spec.key, new Chart(spec));
          shown.grid.append(charts.get(spec.key).element);
          charts.get(spec.key).draw();
        }
      },
    };
  }

  async function refresh() {
    if (!view || view.busy) { if (view) view.again = true; return; }
    const mine = view;
    mine.busy = true;
    try {
      do { mine.again = false; await mine.refresh(); } while (mine.again && mine === view);
    } catch (error) {
      if (mine === view) main.replaceChildren(create("p", { className: "error", textContent: error.message }), link("", "all runs"));
    }
    mine.busy = false;
  }

  function route() {
    const [, kind, rest, slot] = location.hash.split("/");
    const names = rest ? rest.split(",").map(decodeURIComponent) : [];
    trail.replaceChildren(kind === "run" ? names[0] : kind === "compare" ? "comparison" : "");
    document.title = kind === "run" ? `${names[0]} – Evolute` : "Evolute";
    main.replaceChildren();
    view = kind === "run" ? (slot === undefined ? runView(names[0]) : memberView(names[0], Number(slot))) : kind === "compare" ? compareView(names) : listView();
    refresh();
  }

  const events = new EventSource("/api/events");
  events.addEventListener("open", () => { line.textContent = "live"; refresh(); });
  events.addEventListener("error", () => { line.textContent = "not connected"; });
  events.addEventListener("changed", (event) => { if (view && view.concerns(JSON.parse(event.data))) refresh(); });
  window.addEventListener("hashchange", route);
  route();
})();
