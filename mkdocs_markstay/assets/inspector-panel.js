// What the inspector's panel shows, made of the data of a page. Text gets in as text alone.

/** Make an element: properties, attributes (with a dash, or `role`), and what is in it. */
export function make(name, options = {}, ...inner) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...inner.flat().filter((each) => each !== null && each !== ""));
  return element;
}

/** Make an icon of lines. */
export function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const values = { viewBox: "0 0 16 16", "aria-hidden": "true", fill: "none",
    stroke: "currentColor", "stroke-width": "1.8", "stroke-linecap": "round", "stroke-linejoin": "round" };
  for (const [key, value] of Object.entries(values)) svg.setAttribute(key, value);
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

const number = (count) => count.toLocaleString("en");
const count = (total, one, many = `${one}s`) => `${number(total)} ${total === 1 ? one : many}`;
/** A chunk id or digest as it is shown; what is copied is all of it. */
export const shorten = (id) => id.slice(0, 10);
const badge = (kind, text = kind) => make("span", { className: `badge ${kind}` }, text);

/** Copy text, also where the clipboard is not to be had. Tells whether it was done. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { value: text });
    area.style.cssText = "position:fixed;opacity:0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function copyButton(text, shown, name, tell) {
  const value = make("span", {}, shown);
  const button = make("button", { type: "button", className: "copy mono", title: `${text}\nClick to copy` },
    make("span", { className: "unseen" }, `Copy ${name} `), value);
  button.addEventListener("click", async () => {
    const done = await copyText(text);
    value.textContent = done ? "Copied" : "Not copied";
    button.classList.toggle("done", done);
    tell(value.textContent);
    setTimeout(() => { value.textContent = shown; button.classList.remove("done"); }, 1500);
  });
  return button;
}

/** How a passage is called: its section, and its place in it. */
export const nameOf = ({ section_id, position }) =>
  `${section_id ? `#${section_id}` : "page"}${position ? ` · ${position}` : ""}`;

// -- passages

function passageItem(passage, index, change, pieces, at) {
  const name = make("button", { type: "button", className: "name mono" }, nameOf(passage));
  name.addEventListener("click", () => at.show(index, true));
  const hidden = at.located && !pieces.some((piece) => piece.element || piece.range);
  const item = make("li", { className: `item ${index % 2 ? "two" : "one"}` },
    make("div", { className: "row" }, name, change && change.kind !== "metadata" ? badge(change.kind) : ""),
    make("div", { className: "meta" },
      `position ${passage.position} · ${passage.kinds.join(", ")} · ${count(passage.chars, "character")}`),
    make("div", { className: "ids" },
      copyButton(passage.chunk_id, shorten(passage.chunk_id), "chunk id", at.tell),
      copyButton(passage.referent, "referent", "referent", at.tell),
      passage.stays.map((stay) => copyButton(stay, `stay:${stay}`, "marker", at.tell))),
    passage.twins ? make("div", { className: "meta" },
      `The same text stands on this page ${count(passage.twins, "more time")}.`) : "",
    hidden ? make("div", { className: "meta" }, "A script of the theme has taken its place away.") : "");
  item.dataset.passage = index;
  item.addEventListener("mouseenter", () => at.point(index, true));
  item.addEventListener("mouseleave", () => at.point(-1));
  item.addEventListener("focusin", () => at.show(index, false));
  return item;
}

export function showPassages(page, changes, located, at) {
  const parts = [make("h3", {}, page.title || "This page")];
  if (page.why) {
    parts.push(make("p", { className: "note" }, `This page has no passages. ${page.why}`));
    return parts;
  }
  const sections = new Set(page.passages.map(({ referent }) => referent));
  const total = page.passages.reduce((sum, { chars }) => sum + chars, 0);
  parts.push(make("p", { className: "facts" },
    make("code", {}, page.path), ` · language ${page.lang}`, make("br"),
    `${count(page.passages.length, "passage")} in ${count(sections.size, "section")} · ` +
    `${count(total, "character")}`, page.furniture ? make("br") : "",
    page.furniture ? `${count(page.furniture, "element is", "elements are")} not text (hatched)` : ""));
  if (!page.passages.length) parts.push(make("p", { className: "note" }, "There is no text on this page."));
  else if (!page.located) {
    parts.push(make("p", { className: "note" },
      "The bounds cannot be shown: its HTML cannot be marked without another reading."));
  }
  let list = null;
  let before = null;
  page.passages.forEach((passage, index) => {
    if (passage.referent !== before) {
      before = passage.referent;
      const stay = page.stays[passage.section_id];
      parts.push(make("h4", {}, passage.path.join(" › "), stay ? ` · stay:${stay}` : ""));
      list = make("ol", {});
      parts.push(list);
    }
    list.append(passageItem(passage, index, changes.get(passage.chunk_id), located[index] ?? [], at));
  });
  return parts;
}

// -- changes

const WORDS = { metadata: "with other metadata" };
// The worst first; what only says something else of the same text is folded.
const ORDER = ["removed", "edited", "moved", "retired", "added", "repositioned", "metadata"];

/** Write one of two texts, with the words marked that the other one does not have. */
function markWords(pieces, sign, name) {
  return pieces.flatMap(([each, text]) => (each === "=" ? [text] : each === sign ? [make(name, {}, text)] : []));
}

function changeTexts({ kind, pieces }) {
  if (!pieces) return null;
  const side = (title, text) =>
    make("div", { tabIndex: 0, role: "group", "aria-label": title }, make("b", {}, title), text);
  return make("div", { className: "texts" }, kind === "removed"
    ? side("Gone", markWords(pieces, "-", "del"))
    : [side("Before", markWords(pieces, "-", "del")), side("Now", markWords(pieces, "+", "ins"))]);
}

function changeItem(change, page, at) {
  const place = change.new ?? change.old;
  const index = page.passages.findIndex(({ chunk_id }) => chunk_id === change.new?.chunk_id);
  const passage = page.passages[index];
  const ofPassage = change.what === "passage";
  const title = ofPassage
    ? nameOf({ section_id: place.referent.split("#")[1] ?? "", position: place.position })
    : `${change.what} ${place.referent}`;
  const name = passage
    ? make("button", { type: "button", className: "name mono" }, title)
    : make("span", { className: "name mono" }, title);
  const notes = [];
  if (change.old && change.new && change.old.referent !== change.new.referent) {
    notes.push(`from ${change.old.referent}${change.kind === "moved" ? ` to ${change.new.referent}` : ""}`);
  } else if (change.kind === "repositioned") {
    notes.push(`position ${change.old.position} → ${change.new.position}`);
  }
  if (change.fields.length) notes.push(change.fields.join(", "));
  if (change.reason) notes.push(change.reason);
  if (change.broken) notes.push("links and citations that lead here break: nothing says where it went");
  const before = ofPassage ? change.old?.chunk_id : "";
  const now = ofPassage ? change.new?.chunk_id : "";
  const item = make("li", { className: `item ${index >= 0 ? (index % 2 ? "two" : "one") : ""}` },
    make("div", { className: "row" }, name, badge(change.broken ? "broken" : change.kind)),
    notes.map((note) => make("div", { className: "meta" }, note)),
    before || now ? make("div", { className: "ids" },
      before ? copyButton(before, shorten(before), "old chunk id", at.tell) : "",
      before && now ? make("span", { className: "meta" }, before === now ? "is the same" : "→") : "",
      now && now !== before ? copyButton(now, shorten(now), "new chunk id", at.tell) : "") : "",
    changeTexts(change) ?? "");
  if (passage) {
    name.addEventListener("click", () => at.show(index, true));
    item.addEventListener("mouseenter", () => at.point(index, true));
    item.addEventListener("mouseleave", () => at.point(-1));
    item.addEventListener("focusin", () => at.show(index, false));
  }
  return item;
}

function ago(built) {
  const minutes = Math.max(0, Math.round(Date.now() / 60000 - built / 60));
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${count(minutes, "minute")} ago`;
  if (minutes < 48 * 60) return `${count(Math.round(minutes / 60), "hour")} ago`;
  return `${count(Math.round(minutes / 1440), "day")} ago`;
}

export function showChanges(page, changes, base, at) {
  if (!changes) return [make("p", { className: "facts" }, "Comparing …")];
  const parts = [make("h3", {}, `Changes since ${changes.baseline}`)];
  if (changes.missing) {
    parts.push(make("div", { className: "note" }, "Nothing was published yet to compare with. Run ",
      make("code", {}, "mkdocs build"), ", or name a manifest in the option ",
      make("code", {}, "baseline_manifest"), "."));
    return parts;
  }
  if (changes.problem) {
    parts.push(make("p", { className: "note bad" }, `It cannot be compared: ${changes.problem}`));
    return parts;
  }
  if (changes.built) parts.push(make("p", { className: "facts" }, `written ${ago(changes.built)}`));
  for (const note of changes.notes) parts.push(make("p", { className: "note" }, note));
  if (changes.moving) {
    parts.push(make("p", { className: "note bad" },
      "All chunk ids may have moved: the publication or the rules are other ones. Only texts are compared."));
  }
  for (const { name, old, new: now } of changes.facts) {
    parts.push(make("p", { className: "note" }, make("code", {}, name), `: ${JSON.stringify(old)} → ${JSON.stringify(now)}`));
  }
  const { passages, addresses, broken } = changes.totals;
  const chips = [
    broken ? badge("broken", count(broken, "broken address", "broken addresses")) : "",
    ...Object.entries(passages).map(([kind, total]) =>
      badge(kind, `${count(total, "passage")} ${WORDS[kind] ?? kind}`)),
    ...Object.entries(addresses).filter(([kind]) => kind !== "removed" || !broken)
      .map(([kind, total]) => badge(kind, `${count(total, "address", "addresses")} ${WORDS[kind] ?? kind}`)),
  ].filter(Boolean);
  parts.push(chips.length ? make("div", { className: "totals" }, chips)
    : make("p", { className: "note" }, "Nothing has changed: every chunk id and address is as it was."));
  if (!chips.length) return parts;
  parts.push(make("h4", {}, "On this page"));
  if (changes.here.length) {
    const order = [...changes.here].sort((a, b) =>
      b.broken - a.broken || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    const list = (some) => make("ul", {}, some.map((change) => changeItem(change, page, at)));
    const folded = order.filter(({ kind }) => kind === "metadata");
    parts.push(list(order.filter(({ kind }) => kind !== "metadata")));
    if (folded.length) {
      parts.push(make("details", { open: folded.length === order.length },
        make("summary", { className: "mute" }, `Other metadata, same text: ${number(folded.length)}`), list(folded)));
    }
    if (changes.more) parts.push(make("p", { className: "mute" }, `and ${number(changes.more)} more`));
  } else parts.push(make("p", { className: "mute" }, "Nothing."));
  if (changes.pages) {
    parts.push(make("h4", {}, "On other pages"), make("ul", { className: "pages" },
      changes.elsewhere.map((each) => make("li", {},
        each.url === null ? make("span", {}, each.source || each.page_id)
          : make("a", { href: new URL(each.url, base).href }, each.source || each.page_id),
        each.broken ? badge("broken", `${number(each.broken)} broken`) : "",
        badge("", number(each.count))))));
    const left = changes.pages - changes.elsewhere.length;
    if (left) parts.push(make("p", { className: "mute" }, `and ${count(left, "more page")}`));
  }
  return parts;
}

// -- findings

function findingItem(found, at) {
  const place = `${found.path}:${found.line}`;
  return make("li", { className: "item" },
    make("div", { className: "row" },
      make("span", { className: "name" }, copyButton(place, place, "the place", at.tell)),
      badge(found.level, found.code)),
    make("div", {}, found.message),
    found.via ? make("div", { className: "meta" }, `inserted by ${found.via}`) : "",
    found.debt ? make("div", { className: "meta" }, "known: it is in the baseline") : "");
}

export function showFindings(page, at) {
  const parts = [make("h3", {}, "Findings on this page")];
  parts.push(page.findings.length
    ? make("ul", {}, page.findings.map((found) => findingItem(found, at)))
    : make("p", { className: "mute" }, "None."));
  if (page.other_count) {
    parts.push(make("details", {},
      make("summary", {}, make("h4", { style: "display: inline-block" }, `On other pages: ${number(page.other_count)}`)),
      make("ul", {}, page.others.map((found) => findingItem(found, at))),
      page.other_count > page.others.length
        ? make("p", { className: "mute" }, `and ${number(page.other_count - page.others.length)} more`) : ""));
  }
  return parts;
}
