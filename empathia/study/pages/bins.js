// MEED2's good / okay / bad. A reply is moved by mouse or finger (pointer events), by its own buttons, or by keys.

import { el, words } from "./dom.js";
import { mark } from "./questions.js";

const NAMES = ["good", "okay", "bad"];
const LABELS = { tray: "Replies to sort", good: "Good", okay: "Okay", bad: "Bad" };

export function bins(item, value, change, { marks = {}, say, fixed = false }) {
  let placed = { ...(value.bins || {}) };
  const areas = {};
  const box = el("section", { class: "answer bins", "aria-label": "Sort the replies" });
  for (const name of ["tray", ...NAMES]) {
    areas[name] = el("div", { class: "cards" });
    box.append(el("section", { class: `area ${name}`, "data-area": name, "aria-label": LABELS[name] },
      el("h3", {}, LABELS[name], name === "tray" ? "" : el("kbd", { "aria-hidden": "true" }, String(NAMES.indexOf(name) + 1))),
      areas[name]));
  }
  const cards = item.replies.map((text, slot) => card(text, slot));
  cards.forEach((node, slot) => areas[placed[slot] || "tray"].append(node));
  refresh();

  function card(text, slot) {
    const node = el("article", { class: `card ${mark(marks[slot])}`, tabindex: "0", "data-slot": slot },
      el("span", { class: "grip", "aria-hidden": "true" }, "⠿"), words(text),
      el("span", { class: "moves" }, ...NAMES.map((name) =>
        el("button", { type: "button", class: `move ${name}`, tabindex: "-1", "data-to": name, "aria-label": `Put reply ${slot + 1} into ${name}`,
          onclick: () => move(slot, name) }, LABELS[name]))));
    node.addEventListener("keydown", (event) => {
      const to = { 1: "good", 2: "okay", 3: "bad", g: "good", o: "okay", b: "bad", 0: "tray" }[event.key.toLowerCase()];
      if (to && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        event.stopPropagation();
        move(slot, to);
        const open = cards.find((other) => areas.tray.contains(other));
        (to === "tray" || !open ? node : open).focus();
      }
    });
    node.addEventListener("pointerdown", (event) => startDrag(event, node, slot));
    return node;
  }

  function move(slot, to) {
    if (to === "tray" && fixed) to = placed[slot];
    if ((placed[slot] || "tray") === to) return;
    placed = { ...placed };
    if (to === "tray") delete placed[slot];
    else placed[slot] = to;
    areas[to].append(cards[slot]);
    refresh();
    say(`Reply ${slot + 1} is now in ${LABELS[to]}.`);
    change({ bins: placed });
  }

  function refresh() {
    cards.forEach((node, slot) => {
      const where = placed[slot];
      node.setAttribute("aria-label", `Reply ${slot + 1}, ${where ? `in ${LABELS[where]}` : "not sorted"}: ${item.replies[slot]}. Press 1 for good, 2 for okay, 3 for bad.`);
      node.querySelectorAll(".move").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.to === where)));
    });
    box.classList.toggle("sorted", Object.keys(placed).length === cards.length);
  }

  function startDrag(event, node, slot) {
    // A finger on the words scrolls the page; on the grip it drags. A mouse drags anywhere but on a button.
    const onGrip = event.target.closest(".grip");
    if (event.target.closest("button") || event.button !== 0 || (event.pointerType !== "mouse" && !onGrip)) return;
    event.preventDefault();
    node.focus({ preventScroll: true });
    const start = { x: event.clientX, y: event.clientY };
    let last = start;
    let ghost = null;
    let scrolling = 0;
    let over = null;

    const areaAt = ({ x, y }) => document.elementFromPoint(x, y)?.closest("[data-area]") || null;
    const follow = () => {
      ghost.style.transform = `translate(${last.x - 24}px, ${last.y - 20}px)`;
      const area = areaAt(last);
      if (area !== over) {
        over?.classList.remove("over");
        over = area && box.contains(area) ? area : null;
        over?.classList.add("over");
      }
    };
    const scroll = () => {
      const edge = 70;
      const step = last.y < edge ? last.y - edge : last.y > innerHeight - edge ? last.y - innerHeight + edge : 0;
      if (step) { window.scrollBy(0, step / 4); follow(); }
      scrolling = requestAnimationFrame(scroll);
    };
    const begin = () => {
      ghost = node.cloneNode(true);
      ghost.classList.add("ghost");
      ghost.removeAttribute("tabindex");
      ghost.setAttribute("aria-hidden", "true");
      document.body.append(ghost);
      node.classList.add("lifted");
      scrolling = requestAnimationFrame(scroll);
    };
    const onMove = (e) => {
      if (e.pointerId !== event.pointerId) return;
      last = { x: e.clientX, y: e.clientY };
      if (!ghost && Math.hypot(last.x - start.x, last.y - start.y) > 5) begin();
      if (ghost) follow();
    };
    const end = (e) => {
      if (e.pointerId !== event.pointerId) return;
      cancelAnimationFrame(scrolling);
      for (const [name, handler] of handlers) window.removeEventListener(name, handler);
      over?.classList.remove("over");
      ghost?.remove();
      node.classList.remove("lifted");
      if (ghost && e.type === "pointerup" && over) move(slot, over.dataset.area);
    };
    const handlers = [["pointermove", onMove], ["pointerup", end], ["pointercancel", end]];
    for (const [name, handler] of handlers) window.addEventListener(name, handler);
  }

  box.number = () => cards.find((node) => areas.tray.contains(node))?.focus();
  return box;
}
