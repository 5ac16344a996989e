// What outlives a reload of this tab: the theme and the key, nothing else. Where the browser forbids storage, nothing.

export function remembered(name) {
  try {
    return sessionStorage.getItem(`empathia ${name}`);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    if (value == null) sessionStorage.removeItem(`empathia ${name}`);
    else sessionStorage.setItem(`empathia ${name}`, value);
  } catch {
    // Then it lasts as long as the page.
  }
}
