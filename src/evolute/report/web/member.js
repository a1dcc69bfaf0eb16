// One member on a page: its figures, its curves, its hyper-parameters along its line of descent, and a video of it.
"use strict";
const MemberPage = (() => {
  const { Chart, create, number, sortable } = Charts;

  // `video` makes an element that shows or records one, or is null; `back` is the address of the run's page.
  function show(root, page, { back, video }) {
    const score = page.score === null ? "no score yet" : `score ${number(page.score)}`;
    const grid = create("div", { className: "grid" });
    const rows = sortable(["turn of the line", "member", "score then", ...page.hparams], page.schedule);
    root.replaceChildren(
      create("p", {}, create("a", { href: back, textContent: "← the run" })),
      create("h1", { textContent: `member ${page.member}` }),
      create("p", {}, `${page.best ? "the best of the run, " : ""}${score}`),
      ...page.evaluated.map((text) => create("p", { className: "evaluated", textContent: `evaluated: ${text}` })),
      create("dl", { className: "facts" }, ...page.facts.map(([name, value]) => create("div", {}, create("dt", { textContent: name }), create("dd", { textContent: value })))),
      ...(page.descent ? [create("p", { className: "soft", textContent: `line of descent, by member: ${page.descent}` })] : []),
      ...(video ? [create("section", { className: "video" }, create("h2", { textContent: "Video" }), video)] : []),
      create("section", {}, create("h2", { textContent: "Curves" }), grid),
      create("section", {}, create("h2", { textContent: "Hyper-parameters along its line of descent" }), create("div", { className: "scroll" }, rows)),
    );
    for (const spec of page.charts) {
      const chart = new Chart(spec);
      grid.append(chart.element);
      chart.draw();
    }
  }

  return { show };
})();
