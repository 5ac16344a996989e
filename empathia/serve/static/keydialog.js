// Asks for the server's key, and keeps it for this tab.

import { byId } from "./dom.js";
import { remember } from "./store.js";

// Resolves with the key once one was typed; `again` if the last one was refused.
export function askKey(again) {
  const dialog = byId("key-dialog");
  const field = byId("key");
  if (again) byId("key-hint").textContent = "That key did not open it. Please try once more.";
  field.value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    byId("key-form").addEventListener("submit", () => {
      remember("key", field.value.trim());
      resolve(field.value.trim());
    }, { once: true });
  });
}
