// The admin page: how the study stands, refreshed while it is open.

import { el } from "./dom.js";

const page = document.getElementById("page");
const state = document.getElementById("state");
let timer = 0;

async function send(path, body) {
  const response = await fetch(path, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (response.status === 401) throw new Error("key");
  if (!response.ok) throw new Error((await response.json()).error);
  return response.json();
}

function enter(problem = "") {
  clearTimeout(timer);
  const key = el("input", { type: "password", id: "key", autocomplete: "current-password", required: true });
  const form = el("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await send("/api/admin/enter", { key: key.value.trim() });
      refresh();
    } catch {
      enter("That is not this study's key. It was printed by: empathia study serve.");
    }
  } }, el("div", { class: "inline" }, el("label", { for: "key" }, "Admin key"), key, el("button", { class: "main" }, "Open")));
  page.replaceChildren(...[el("h1", {}, "Study"), problem ? el("p", { class: "notice", role: "alert" }, problem) : null, form].filter(Boolean));
  key.focus();
}

async function refresh() {
  clearTimeout(timer);
  try {
    draw(await send("/api/admin/status"));
    state.textContent = `as of ${new Date().toLocaleTimeString()}`;
    state.dataset.kind = "";
  } catch (problem) {
    if (problem.message === "key") return enter();
    state.textContent = "the server does not answer";
    state.dataset.kind = "bad";
  }
  timer = setTimeout(refresh, 5000);
}

function figure(value, label) {
  return el("div", { class: "figure" }, el("b", {}, String(value)), el("span", {}, label));
}

function percent(value) {
  return value == null ? "–" : `${Math.round(100 * value)} %`;
}

function table(header, rows) {
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...header.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, cell)))))));
}

async function act(path, body) {
  await send(path, body);
  refresh();
}

function draw(found) {
  const p = found.progress;
  document.getElementById("title").textContent = found.title;
  const bar = document.getElementById("progress");
  bar.hidden = false;
  bar.firstElementChild.style.width = `${(100 * p.finished) / Math.max(1, p.wanted)}%`;
  const flagged = found.annotators.filter((a) => a.flags.length).length;
  const formats = ["csv", "jsonl", "parquet"];
  page.replaceChildren(
    el("div", { class: "inline" },
      el("button", { type: "button", class: found.paused ? "main" : "plain", id: "pause",
        onclick: () => act("/api/admin/pause", { paused: !found.paused }) }, found.paused ? "Go on" : "Pause"),
      el("a", { class: "plain", href: "/admin/report" }, "Report"),
      el("span", { class: "quiet" }, found.paused ? "Paused: nobody gets new work; clicks are still saved." : "Running.")),
    el("div", { class: "figures" },
      figure(`${p.finished} / ${p.wanted}`, "places answered"), figure(`${p.complete_tasks} / ${p.tasks}`, "tasks complete"),
      figure(p.under_way, "under way now"), figure(p.expired, "abandoned"),
      found.design === "ab" ? figure(p.extra, "fourth annotators") : "",
      figure(p.people.joined, "annotators"), figure(flagged, "flagged"), figure(`${found.median_seconds} s`, "median per item")),
    el("h2", {}, "Agreement so far"),
    found.agreements.length
      ? table(["Question", "α (95 %)", "Level", "Fleiss κ", "Units"], found.agreements.map((a) => [
          a.question, `${a.alpha ?? "–"} [${a.low ?? "–"}, ${a.high ?? "–"}]`, a.level, String(a.kappa ?? "–"), String(a.items)]))
      : el("p", { class: "quiet" }, "No item has two answers yet."),
    el("h2", {}, "Annotators"),
    table(["Annotator", "Answers", "Median", "Same answer", "Agrees", "Bonus", "Flags", ""], found.annotators.map((a) => [
      a.annotator, String(a.answers), `${a.seconds} s`, percent(a.same_answer), percent(a.agreement),
      a.bonus == null ? "–" : `${a.bonus}/${a.bonus_possible}`,
      el("span", { class: a.flags.length ? "flag" : "quiet" }, a.flags.join("; ") || "–"),
      el("button", { type: "button", class: "plain", onclick: () => act("/api/admin/exclude", { annotator: a.annotator, excluded: !a.excluded }) },
        a.excluded ? "Take back in" : "Exclude")])),
    el("h2", {}, "Export"),
    table(["Table", ...formats.map(() => "")], ["answers", "annotators", "clicks"].map((name) => [
      name, ...formats.map((format) => el("a", { href: `/api/admin/export/${name}.${format}`, download: `${name}.${format}` }, format))]))
  );
}

refresh();
