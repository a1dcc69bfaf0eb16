// The report: the page of a run, and one for each of its members, by what follows the # in the address.
"use strict";
(() => {
  const { create } = Charts;
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.querySelector("main");
  const run = create("div"), member = create("div");
  main.replaceChildren(run, member);
  const page = new RunPage.Page(run, data, (slot) => `#member-${slot}`);

  function route() {
    const asked = /^#member-(\d+)$/.exec(location.hash);
    const found = asked ? data.pages.find((one) => one.member === Number(asked[1])) : null;
    run.hidden = Boolean(found);
    member.hidden = !found;
    if (found) {
      const video = found.video ? create("img", { src: found.video, alt: `an episode of member ${found.member}` }) : null;
      MemberPage.show(member, found, { back: "#", video });
      window.scrollTo(0, 0);
    } else RunPage.redraw(page);
  }

  window.addEventListener("hashchange", route);
  route();
})();
