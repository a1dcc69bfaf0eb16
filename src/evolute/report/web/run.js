// One run on a page: headline, hints, figures, plots and tables. Used by the report and by the dashboard.
"use strict";
const RunPage = (() => {
  const { Chart, create, number, sortable } = Charts;

  function members(run) {
    const several = run.objectives.length > 0;
    const columns = ["member", ...(several ? run.objectives : ["score"]), "turns", "steps", "weights", ...run.hparams];
    return [columns, run.members.map((one) => [one.member, ...(several ? one.objectives : [one.score]), one.turns, one.steps, one.weights, ...one.values])];
  }

  class Page {
    // `link` gives the address of a member's page.
    constructor(root, run, link) {
      this.root = root;
      this.run = run;
      this.link = link;
      this.charts = new Map();
      this.head = create("header");
      this.hints = create("ul", { className: "hints" });
      this.facts = create("dl", { className: "facts" });
      this.plots = create("div");
      this.grids = new Map();
      const [columns, rows] = members(run);
      const best = (row) => this.run.front.length ? this.run.front.includes(row[0]) : this.run.best !== null && row[0] === this.run.best.member;
      const cell = (value, column) => column === 0 ? create("a", { href: link(value), textContent: String(value) }) : null;
      this.table = sortable(columns, rows, { sort: 1, falling: true, mark: (row) => best(row), cell });
      this.schedule = create("div", { className: "scroll" });
      this.notes = create("ul");
      this.requests = create("ul");
      root.replaceChildren(
        this.head, this.hints, this.facts, this.plots,
        create("section", {}, create("h2", { textContent: "Members" }), create("div", { className: "scroll members" }, this.table)),
        create("section", {}, create("h2", { textContent: "Schedule of the best" }), this.schedule),
        this.requests, this.notes,
      );
      this.update(run);
    }

    place(sections) {
      if (sections.every((title) => this.grids.has(title))) return;
      this.plots.replaceChildren(...sections.map((title) => {
        if (!this.grids.has(title)) this.grids.set(title, create("div", { className: "grid" }));
        return create("section", {}, create("h2", { textContent: title }), this.grids.get(title));
      }));
    }

    update(run) {
      this.run = run;
      const best = run.best === null ? "no member has a score yet" : run.front_text ? run.front_text : `best: member ${run.best.member}, score ${number(run.best.score)}`;
      this.head.replaceChildren(
        create("h1", { textContent: run.name }),
        create("p", {}, create("span", { className: `status ${run.status}`, textContent: run.status }),
          ` ${run.learner} with ${run.strategy}${run.env ? ` on ${run.env}` : ""}; ${best}`),
        ...(run.evaluated || []).map((text) => create("p", { className: "evaluated", textContent: text })),
      );
      this.hints.hidden = run.hints.length === 0;
      this.hints.replaceChildren(...run.hints.map((text) => create("li", { textContent: text })));
      this.facts.replaceChildren(...run.facts.flatMap(([name, value]) => [create("div", {}, create("dt", { textContent: name }), create("dd", { textContent: value }))]));
      this.place([...new Set(run.charts.map((spec) => spec.section))]);
      for (const spec of run.charts) {
        const chart = this.charts.get(spec.key);
        if (chart) { chart.update(spec); continue; }
        const made = new Chart(spec, this.link);
        this.charts.set(spec.key, made);
        this.grids.get(spec.section).append(made.element);
        made.draw();
      }
      this.table.refill(members(run)[1]);
      this.schedule.replaceChildren(sortable(["turn of the line", "score then", ...run.hparams], run.schedule));
      this.requests.replaceChildren(...(run.requests || []).map((text) => create("li", { textContent: text })));
      this.notes.replaceChildren(...run.notes.map((text) => create("li", { textContent: text })));
    }
  }

  const redraw = (page) => page.charts.forEach((chart) => chart.draw());
  return { Page, redraw };
})();
