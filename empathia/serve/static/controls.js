// "How to answer": what the caller wishes for, and which model is asked, or which two.

import { byId, el } from "./dom.js";
import { LEVELS, MECHANISMS } from "./labels.js";

const option = (value, label) => el("option", { value }, label);
const group = (label, prefix, names) => el("optgroup", { label }, names.map((name) => option(`${prefix}:${name}`, name)));

export class Controls {
  constructor() {
    this.models = [];
    this.form = byId("how-form");
    this.form.addEventListener("change", () => this.#settle());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.#settle();
  }

  // What the server offers: the labels of a reply, and the models.
  offer(taxonomy, models) {
    this.models = models;
    byId("target").append(group("An intent", "intent", taxonomy.intents), group("A feeling", "emotion", taxonomy.emotions));
    byId("mechanisms").append(...taxonomy.mechanisms.map((name) => {
      const [label, hint] = MECHANISMS[name] ?? [name, ""];
      return el("label", {}, el("span", {}, label, el("small", {}, hint)),
        el("select", { name }, option("", "auto"), taxonomy.levels.map((level) => option(level, LEVELS[level] ?? level))));
    }));
    for (const id of ["model", "rival"]) byId(id).append(...models.map((model) => option(model.id, model.id)));
    byId("compare").hidden = models.length < 2;
    this.#settle();
  }

  get(name) {
    return this.form.elements[name]?.value ?? "";
  }

  // The one or two models to ask, the chosen one first.
  get asked() {
    return [this.get("model") || null, this.get("rival")].filter((name, place) => name || place === 0);
  }

  get blind() {
    return this.form.elements.blind.checked;
  }

  // Only what was asked for; null if that is nothing.
  get wish() {
    const wish = {};
    const [kind, label] = this.get("target").split(":");
    if (label) wish[kind] = label;
    const levels = Object.keys(MECHANISMS).filter((name) => this.get(name)).map((name) => [name, Number(this.get(name))]);
    if (levels.length) wish.mechanisms = Object.fromEntries(levels);
    if (this.get("manner")) wish.stochastic = this.get("manner") === "varied";
    for (const name of ["seed", "candidates"]) {
      const field = this.form.elements[name];
      if (field.value && field.checkValidity()) wish[name] = field.valueAsNumber;
    }
    return Object.keys(wish).length ? wish : null;
  }

  // Keeps the two models apart, and says in a few words what is set.
  #settle() {
    const rival = byId("rival");
    for (const choice of rival.options) choice.disabled = choice.value !== "" && choice.value === this.get("model");
    if (rival.selectedOptions[0]?.disabled) rival.value = "";
    byId("blind-row").hidden = !rival.value;
    byId("model-about").textContent = this.models.find((model) => model.id === this.get("model"))?.description ?? "";
    const { mechanisms = {}, stochastic, seed, candidates, ...target } = this.wish ?? {};
    byId("how-now").textContent = [
      ...Object.values(target),
      ...Object.entries(mechanisms).map(([name, level]) => `${LEVELS[level]} ${MECHANISMS[name][0].toLowerCase()}`),
      stochastic == null ? "" : stochastic ? "varied" : "steady",
      seed == null ? "" : `seed ${seed}`,
      candidates == null ? "" : `${candidates} candidates`,
      rival.value && `compared with ${rival.value}`,
    ].filter(Boolean).join(" · ") || "empathia chooses";
  }
}
