// A form that asks something of a run while it trains, and says which decision has taken it.
"use strict";
const SteerForm = (() => {
  const { create } = Charts;
  // What each request is made of: the fields that it shows, in the order of its words.
  const KINDS = { pin: ["member"], unpin: ["member"], clone: ["member", "into"], set: ["member", "values"], bounds: ["values"] };
  const EXAMPLES = { set: "name=value …", bounds: "name=[low, high] …" };

  // Words that are typed, where brackets hold together what is between them.
  const words = (text) => text.match(/(?:[^\s[]|\[[^\]]*\])+/g) || [];

  async function answer(path, name, say) {
    for (;;) {
      const found = await (await fetch(`/api/run/${path}/steer/${name}`)).json();
      if (found.error || found.answer) { say(found.error || found.answer); return; }
      if (!found.running) { say("nobody trains the run any more: the request waits until it is resumed"); return; }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  function make(path, run) {
    const member = (label) => create("select", { ariaLabel: label }, ...run.members.map((one) => create("option", { textContent: String(one.member) })));
    const kind = create("select", { ariaLabel: "request" }, ...Object.keys(KINDS).map((name) => create("option", { textContent: name })));
    const fields = { member: member("member"), into: member("into member"), values: create("input", { ariaLabel: "values", size: 34 }) };
    const labels = { member: create("label", {}, "member ", fields.member), into: create("label", {}, "into ", fields.into), values: create("label", {}, fields.values) };
    const send = create("button", { type: "submit", textContent: "ask" }), said = create("p", { className: "soft", role: "status" });
    const form = create("form", { className: "steer" }, kind, ...Object.values(labels), send);
    const show = () => {
      for (const [name, label] of Object.entries(labels)) label.hidden = !KINDS[kind.value].includes(name);
      fields.values.placeholder = `${EXAMPLES[kind.value] || ""} of ${run.hparams.join(", ")}`;
    };
    kind.addEventListener("change", show);
    show();
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      send.disabled = true;
      const given = KINDS[kind.value].flatMap((name) => name === "values" ? words(fields.values.value) : [fields[name].value]);
      const sent = await fetch(`/api/run/${path}/steer`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ words: [kind.value, ...given] }) });
      const found = await sent.json();
      const say = (text) => { said.textContent = text; };
      if (found.error) say(found.error);
      else {
        say(`${found.text}: waits for the next decision …`);
        await answer(path, found.request, say);
      }
      send.disabled = false;
    });
    return create("section", {}, create("h2", { textContent: "Steer" }), form, said);
  }

  return { make };
})();
