// A tournament: what was played, a warning if players go round in a circle, plots, and a table.
"use strict";
(() => {
  const { Chart, create, sortable } = Charts;
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = data.charts.map((spec) => new Chart(spec));
  document.querySelector("main").replaceChildren(
    create("header", {}, create("h1", { textContent: data.title }), create("p", { textContent: data.about })),
    create("ul", { className: "hints", hidden: !data.circle }, create("li", { textContent: data.circle })),
    create("div", { className: "grid" }, ...charts.map((chart) => chart.element)),
    create("section", {}, create("h2", { textContent: "Players" }), create("div", { className: "scroll" }, sortable(data.columns, data.rows))),
  );
  charts.forEach((chart) => chart.draw());
})();
