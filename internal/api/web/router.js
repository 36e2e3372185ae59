// The addresses of the page. What stands after # names a view, and what the view shows:
//
//	#sale/7  #engine/7  #rush/7  #admin        coupon 7; without a number, the coupon that the page chooses
//	#lab/unlock-before-commit                  an experiment
//	#gallery/order/no-fence                    a wrong implementation
//
// A view listens for "view", which app.js tells after each change of the address, and reads place().rest.

// The gallery is a part of the lab.
export const views = ["sale", "engine", "rush", "admin", "lab", "gallery"];

// place returns the view that the address names, and what follows it. An unknown view is the sale.
export function place() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return views.includes(name) ? { view: name, rest: rest.map(plain).join("/") } : { view: "sale", rest: "" };
}

// address returns the address of what a view shows.
export const address = (view, rest = "") => "#" + [view, ...(rest ? rest.split("/").map(encodeURIComponent) : [])].join("/");

// visit goes to an address. Back returns to the one before, unless the address only says in full what is shown already.
export function visit(view, rest, { replace = false } = {}) {
  const to = address(view, rest);
  if (to === location.hash) return;
  if (replace) history.replaceState(null, "", location.pathname + location.search + to);
  else location.hash = to;
}

// plain decodes a part of an address, which may be typed by hand.
function plain(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
