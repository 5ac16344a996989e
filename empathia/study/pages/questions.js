// Ratings and A/B choices. Each drawing function gets the item, the answer so far and `change(value)`.

import { el, words } from "./dom.js";

export function ratings(item, value, change, { scales, marks = {} }) {
  const box = el("section", { class: "answer", "aria-label": "Your rating" },
    el("div", { class: "reply" }, el("b", {}, "Reply"), words(item.replies[0])));
  for (const scale of scales) {
    const short = scale.levels.length > 3;
    box.append(
      el("fieldset", { class: `scale ${short ? "row" : "column"} ${mark(marks[scale.key])}` },
        el("legend", {}, el("b", {}, scale.name), " ", scale.question),
        el("div", { class: "levels" },
          ...scale.levels.map((level, i) =>
            el("label", { class: "level" },
              el("input", {
                type: "radio", name: `${item.item}-${scale.key}`, value: i + 1, checked: value[scale.key] === i + 1,
                onchange: () => change({ ...(value = { ...value, [scale.key]: i + 1 }) }),
              }),
              el("span", { class: "number", "aria-hidden": "true" }, String(i + 1)), el("span", { class: "level-words" }, level)))))
    );
  }
  // 1 to 5 answer the scale that has the focus, or else the first one still open.
  box.number = (n) => {
    const sets = [...box.querySelectorAll("fieldset")];
    const set = sets.find((s) => s.contains(document.activeElement)) || sets.find((s) => !s.querySelector(":checked"));
    const input = set && set.querySelectorAll("input")[n - 1];
    if (!input) return;
    input.click();
    const following = sets[sets.indexOf(set) + 1];
    if (following) following.querySelector(":checked, input").focus();
    else input.focus();
  };
  return box;
}

export function choice(item, value, change, { marks = {} }) {
  const buttons = {};
  const pick = (name) => {
    for (const [other, button] of Object.entries(buttons)) button.setAttribute("aria-checked", String(other === name));
    change({ choice: name });
  };
  const card = (name, label, key, text) =>
    (buttons[name] = el("button", {
      type: "button", class: `choice ${name} ${value.choice === name ? mark(marks.choice) : ""}`, role: "radio",
      "aria-checked": String(value.choice === name), onclick: () => pick(name),
    }, el("b", {}, label, " ", el("kbd", { "aria-hidden": "true" }, key)), text == null ? null : words(text)));
  const box = el("section", { class: "answer pair", role: "radiogroup", "aria-label": "Which reply is better?" },
    card("left", "Left reply", "1", item.replies[0]), card("right", "Right reply", "2", item.replies[1]),
    card("tie", "They are equal", "3"));
  box.addEventListener("keydown", (event) => {
    const order = Object.values(buttons);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const here = order.indexOf(document.activeElement);
    if (!step || here < 0) return;
    event.preventDefault();
    order[(here + step + order.length) % order.length].focus();
  });
  box.number = (n) => {
    const name = ["left", "right", "tie"][n - 1];
    if (name) { pick(name); buttons[name].focus(); }
  };
  return box;
}

export function mark(good) {
  return good === undefined ? "" : good ? "fits" : "differs";
}
