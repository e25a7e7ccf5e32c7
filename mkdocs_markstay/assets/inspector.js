// The inspector in `mkdocs serve`: the bounds of passages over the page, and a panel beside it.

import { boxOf, findPieces, findRoot, findRuns } from "./inspector-ranges.js";
import { icon, make, nameOf, showChanges, showFindings, showPassages } from "./inspector-panel.js";

const FILES = new URL("./", import.meta.url);
// Three folders up: that of the site.
const SITE = new URL("../../../", FILES);
const KEY = "markstay-inspector";
const TABS = [["passages", "Passages"], ["changes", "Changes"], ["findings", "Findings"]];
const EDGE = 9; // pixels between the text and its bounds

const kept = (() => {
  try { return JSON.parse(sessionStorage.getItem(KEY)) ?? {}; } catch { return {}; }
})();
const state = { on: false, collapsed: false, tab: "passages", scroll: 0, ...kept };
function keep() {
  try { sessionStorage.setItem(KEY, JSON.stringify(state)); } catch { /* then it is forgotten */ }
}

let page = null;
let changes = null;
let changeOf = new Map();
let located = [];
let runs = [];
let boxes = [];
let active = -1;
let shownUrl = "";
let shownMark = null;

// -- what there is to see

const said = make("div", { className: "unseen", role: "status" });
const dot = make("span", { className: "dot", hidden: true });
const toggle = make("button", { type: "button", className: "toggle", "aria-pressed": "false" },
  icon("M5 2H2.5v12H5M11 2h2.5v12H11M6 6h4M6 10h4"), make("span", {}, "Passages"), dot);
const collapse = make("button", { type: "button", className: "icon", "aria-expanded": "true",
  "aria-controls": "body", "aria-label": "Fold the panel", title: "Fold the panel" }, icon("M3 10l5-5 5 5"));
const close = make("button", { type: "button", className: "icon", "aria-label": "Turn the inspector off",
  title: "Turn off (Escape)" }, icon("M4 4l8 8M12 4l-8 8"));
const tabs = TABS.map(([name, title]) => make("button", { type: "button", role: "tab", id: `tab-${name}`,
  "aria-controls": "body" }, title, make("span", { className: "count", hidden: true })));
const body = make("div", { id: "body", className: "body", role: "tabpanel", tabIndex: 0 });
const panel = make("div", { className: "panel" },
  make("div", { className: "head" }, make("h2", {}, "Inspector of passages"), collapse, close),
  make("div", { className: "tabs", role: "tablist", "aria-label": "What is shown" }, tabs), body);
const layer = make("div", { className: "layer" });
const host = make("div", { id: "markstay-inspector" });
const region = make("aside", { "aria-label": "Inspector of passages" }, toggle, panel, said);
host.attachShadow({ mode: "open" }).append(
  make("link", { rel: "stylesheet", href: new URL("inspector-panel.css", FILES).href }), layer, region);

const tell = (text) => { said.textContent = text; };
const at = { show, point, tell, get located() { return Boolean(page?.located); } };

// -- the data of a page

function decodePath(path) {
  try { return decodeURIComponent(path); } catch { return path; } // a server may leave out what is no UTF-8
}

async function load(tries = 5) {
  const target = decodePath(location.pathname).slice(decodePath(SITE.pathname).length);
  const ask = async (name) => {
    const url = new URL(name, FILES);
    url.searchParams.set("page", target);
    return (await fetch(url, { cache: "no-store" })).json();
  };
  const here = location.pathname;
  shownUrl = here;
  shownMark = document.querySelector("[data-markstay-begin]");
  const asked = ask("changes.json");
  asked.catch(() => null);
  try {
    const found = await ask("page.json");
    if (here !== location.pathname) return;
    const wanted = found.passages?.flatMap(({ pieces }) => pieces.map((piece) => piece.at)) ?? [];
    const there = wanted.every((number) => number === null
      || document.querySelector(`[data-markstay-at="${number}"]`));
    if (!found.build || (!there && tries > 3)) {
      // The next build is under way, or the page is of the one before.
      if (tries) setTimeout(() => load(tries - 1), 700);
      return;
    }
    page = found;
    locate();
    render();
    const compared = await asked;
    if (here !== location.pathname || !compared.build) return;
    changes = compared;
    changeOf = new Map(compared.here.filter(({ what, new: now }) => what === "passage" && now)
      .map((change) => [change.new.chunk_id, change]));
    drawn = "";
    draw();
    render();
  } catch {
    // The server has ended, or will reload the page.
  }
}

function forget() {
  [page, changes, changeOf, located, runs, active] = [null, null, new Map(), [], [], -1];
  draw();
}

// -- bounds

function locate() {
  located = findPieces(page.passages);
  runs = findRuns(located);
  watchSizes();
  draw();
}

function makeBox({ passage, number, pieces }) {
  const told = page.passages[passage];
  const change = changeOf.get(told.chunk_id);
  const part = pieces.find((piece) => piece.of > 1);
  const label = make("button", { type: "button", className: "label",
    title: `${told.referent}\nClick to see it in the panel` },
    make("span", { className: "id" }, nameOf(told)),
    make("span", { className: "rest" },
      `pos ${told.position} · ${told.kinds.join(", ")} · ${told.chars} chars`,
      part ? ` · part ${part.part + 1} of ${part.of}` : "",
      number ? " · continued" : ""),
    change && change.kind !== "metadata" ? make("span", { className: `badge ${change.kind}` }, change.kind) : "");
  label.addEventListener("click", () => { reveal(); show(passage, false); focusItem(passage); });
  label.addEventListener("focus", () => point(passage));
  return make("div", { className: `box ${passage % 2 ? "two" : "one"}` }, label);
}

let drawn = "";
function draw() {
  const key = state.on && page ? `${page.build} ${page.target} ${changeOf.size} ${runs.length}` : "";
  if (key !== drawn) {
    drawn = key;
    layer.replaceChildren();
    boxes = key ? runs.map((run) => ({ run, box: makeBox(run), chips: makeChips(run) })) : [];
    layer.append(...boxes.flatMap(({ box, chips }) => [box, ...chips.map(({ chip }) => chip)]));
  }
  const frame = findRoot()?.getBoundingClientRect();
  if (!key || !frame) return;
  const origin = host.getBoundingClientRect();
  const [left, right] = [frame.left - EDGE, frame.right + EDGE];
  for (const { run, box, chips } of boxes) {
    const found = run.pieces.map(boxOf).filter(Boolean);
    box.hidden = !found.length;
    for (const { chip, piece } of chips) {
      const place = boxOf(piece);
      chip.hidden = !place;
      if (place) {
        chip.style.left = `${Math.min(place.right, frame.right) - origin.left}px`;
        chip.style.top = `${place.top - origin.top - 8}px`;
      }
    }
    if (!found.length) continue;
    const edges = {
      left: Math.max(left, Math.min(...found.map((each) => each.left)) - EDGE, 1),
      right: Math.min(right, Math.max(...found.map((each) => each.right)) + EDGE),
      top: Math.min(...found.map((each) => each.top)) - 2,
      bottom: Math.max(...found.map((each) => each.bottom)) + 2,
    };
    box.style.left = `${edges.left - origin.left}px`;
    box.style.top = `${edges.top - origin.top}px`;
    box.style.width = `${edges.right - edges.left}px`;
    box.style.height = `${edges.bottom - edges.top}px`;
    box.classList.toggle("active", run.passage === active);
  }
}

function makeChips(run) {
  return run.pieces.filter((piece) => piece.stays).map((piece) => ({
    piece, chip: make("span", { className: "chip" }, piece.stays.map((stay) => `stay:${stay}`).join(" ")),
  }));
}

let waiting = 0;
function redraw() {
  if (!waiting && state.on) waiting = requestAnimationFrame(() => { waiting = 0; draw(); });
}

// -- pointing

/** Highlight a passage on the page and in the panel; `scroll`: bring it into view after a while. */
let soon = 0;
function point(index, scroll = false) {
  clearTimeout(soon);
  if (scroll && index >= 0) soon = setTimeout(() => scrollTo(index, false), 300);
  if (index === active) return;
  active = index;
  for (const { run, box } of boxes) box.classList.toggle("active", run.passage === index);
  for (const item of body.querySelectorAll("[data-passage]")) {
    item.classList.toggle("active", Number(item.dataset.passage) === index);
  }
}

function scrollTo(index, always) {
  const found = boxes.find(({ run, box }) => run.passage === index && !box.hidden);
  if (!found) return;
  const { top, bottom } = found.box.getBoundingClientRect();
  // Under the header of a theme, and above a panel at the bottom, nothing is seen.
  const end = innerWidth < 900 && !state.collapsed ? innerHeight / 2 : innerHeight;
  if (!always && top > 80 && Math.min(bottom, top + 60) < end) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  scrollBy({ top: top - 110, behavior: still ? "auto" : "smooth" });
}

function show(index, always) {
  point(index);
  scrollTo(index, always);
}

function findItem(index) {
  return body.querySelector(`[data-passage="${index}"]`);
}

function reveal() {
  state.tab = "passages";
  state.collapsed = false;
  render();
}

function focusItem(index) {
  findItem(index)?.scrollIntoView({ block: "nearest" });
  findItem(index)?.querySelector("button")?.focus({ preventScroll: true });
}

/** Find the passage that an element of the page is in. */
function passageOf(target) {
  if (!(target instanceof Node) || host.contains(target)) return -1;
  const found = runs.find(({ pieces }) => pieces.some(({ element, range }) =>
    range ? range.intersectsNode(target) && !range.commonAncestorContainer.contains(target.parentNode?.parentNode ?? null)
      : element?.contains(target)));
  return found ? found.passage : -1;
}

function pointFromPage(event) {
  if (!state.on || !page || event.composedPath().includes(host)) return;
  const index = passageOf(event.target);
  if (index < 0 || index === active) return;
  point(index);
  if (state.tab === "passages") findItem(index)?.scrollIntoView({ block: "nearest" });
}

// -- the panel

function render() {
  toggle.setAttribute("aria-pressed", String(state.on));
  const bad = page?.findings?.length ?? 0;
  dot.hidden = state.on || !bad;
  dot.textContent = bad;
  dot.title = "findings on this page";
  panel.hidden = !state.on;
  panel.classList.toggle("collapsed", state.collapsed);
  toggle.classList.toggle("beside", state.on && !state.collapsed);
  toggle.classList.toggle("above", state.on && state.collapsed);
  collapse.setAttribute("aria-expanded", String(!state.collapsed));
  collapse.firstChild.style.transform = state.collapsed ? "" : "rotate(180deg)";
  if (state.on) document.documentElement.dataset.markstayInspector = state.collapsed ? "folded" : "open";
  else delete document.documentElement.dataset.markstayInspector;
  const totals = { passages: page?.passages?.length, changes: changes?.here?.length, findings: bad };
  tabs.forEach((tab, number) => {
    const [name] = TABS[number];
    const chosen = state.tab === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    const shown = tab.querySelector(".count");
    shown.hidden = !totals[name];
    shown.textContent = totals[name] ?? "";
    shown.classList.toggle("news", name === "changes");
    shown.classList.toggle("bad", name === "findings"
      || (name === "changes" && Boolean(changes?.here?.some(({ broken }) => broken))));
  });
  body.setAttribute("aria-labelledby", `tab-${state.tab}`);
  if (!state.on) return;
  const focused = host.shadowRoot.activeElement;
  const inside = focused && body.contains(focused) ? [...body.querySelectorAll("button, a")].indexOf(focused) : -1;
  const scroll = state.scroll;
  body.replaceChildren(...(page ? parts() : [make("p", { className: "mute" }, "Reading the page …")]));
  body.scrollTop = scroll;
  if (inside >= 0) body.querySelectorAll("button, a")[inside]?.focus({ preventScroll: true });
  const index = active;
  active = -1;
  point(index);
  redraw();
}

function parts() {
  if (state.tab === "changes") return showChanges(page, changes, SITE, at);
  if (state.tab === "findings") return showFindings(page, at);
  return showPassages(page, changeOf, located, at);
}

function turn(on) {
  state.on = on;
  keep();
  if (!on) point(-1);
  render();
  draw();
  tell(on ? "The inspector is on." : "The inspector is off.");
}

toggle.addEventListener("click", () => turn(!state.on));
close.addEventListener("click", () => { turn(false); toggle.focus(); });
collapse.addEventListener("click", () => { state.collapsed = !state.collapsed; keep(); render(); });
tabs.forEach((tab, number) => {
  const choose = (other) => {
    const next = (other + TABS.length) % TABS.length;
    [state.tab, state.scroll] = [TABS[next][0], 0];
    keep();
    render();
    tabs[next].focus();
  };
  tab.addEventListener("click", () => choose(number));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); choose(number + step); }
  });
});
body.addEventListener("scroll", () => { state.scroll = body.scrollTop; keep(); });
host.addEventListener("keydown", (event) => {
  // A theme has keys of its own: letters in the panel are not for it.
  if (event.key === "Escape" && state.on) { turn(false); toggle.focus(); }
  else if (event.key !== "Tab") event.stopPropagation();
});
document.addEventListener("keydown", (event) => {
  const field = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && state.on && !field && !event.defaultPrevented) turn(false);
});
document.addEventListener("mouseover", pointFromPage);
document.addEventListener("focusin", pointFromPage);

// -- what changes the page without a new one

/** Follow the colours of the theme: a dark page has a dark panel. */
function followColours() {
  let luminance = 1;
  for (const element of [document.body, document.documentElement]) {
    const [r, g, b, alpha = 1] = (getComputedStyle(element).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (b !== undefined && alpha > 0.5) {
      luminance = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
      break;
    }
  }
  host.toggleAttribute("data-dark", luminance < 0.5);
}

const sizes = new ResizeObserver(redraw);
function watchSizes() {
  sizes.disconnect();
  for (const element of [document.documentElement, document.body, findRoot()]) if (element) sizes.observe(element);
}

for (const name of ["toggle", "change", "scroll", "transitionend", "load"]) {
  document.addEventListener(name, redraw, true);
}
addEventListener("resize", () => { render(); redraw(); });
addEventListener("load", redraw);
document.fonts?.ready.then(redraw);
new MutationObserver(followColours).observe(document.documentElement,
  { attributes: true, attributeFilter: ["class", "style", "data-bs-theme", "data-theme"] });
// Also a page that is put in the place of another one without loading (instant navigation).
new MutationObserver((records) => {
  if (records.some(({ type }) => type === "attributes")) followColours();
  const mark = document.querySelector("[data-markstay-begin]");
  if (location.pathname !== shownUrl || mark !== shownMark) {
    forget();
    state.scroll = 0;
    load();
  } else redraw();
}).observe(document.body, { childList: true, subtree: true, attributes: true,
  attributeFilter: ["class", "style", "open", "hidden", "data-md-color-scheme"] });

document.documentElement.append(host);
followColours();
render();
load();
