// Asks for the server's key, and keeps it for this tab.

import { byId } from "./dom.js";
import { Problem } from "./problems.js";
import { remember } from "./store.js";

// Resolves with the key once one was typed; `again` if the last one was refused. Closing it without one is a problem.
export function askKey(again) {
  const dialog = byId("key-dialog");
  const field = byId("key");
  if (again) byId("key-hint").textContent = "That key did not open it. Please try once more.";
  dialog.returnValue = field.value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    dialog.addEventListener("close", () => {
      if (dialog.returnValue !== "open") return reject(new Problem(401));
      remember("key", field.value.trim());
      resolve(field.value.trim());
    }, { once: true });
  });
}
