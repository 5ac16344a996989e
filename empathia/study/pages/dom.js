// Elements from plain data. Text always enters as text: nothing a model wrote is ever read as HTML.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

export function conversation(turns) {
  return el(
    "section",
    { class: "talk", "aria-label": "Conversation" },
    ...turns.map(([who, text]) =>
      el("p", { class: `turn ${who === "listener" ? "listener" : "speaker"}` },
        el("b", {}, who === "listener" ? "Listener" : "Speaker"), el("span", { class: "words" }, text))
    )
  );
}

export function words(text) {
  return el("span", { class: "words" }, text || "(no reply)");
}
