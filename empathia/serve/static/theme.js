// Light or dark: what the system says, until someone presses the button.

import { remember, remembered } from "./store.js";

const system = matchMedia("(prefers-color-scheme: dark)");

function show(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

export function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : system.matches;
}

export function themeButton(button) {
  const name = () => button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    remember("theme", theme);
    show(theme);
    name();
  });
  system.addEventListener("change", name);
  name();
}

show(remembered("theme"));
