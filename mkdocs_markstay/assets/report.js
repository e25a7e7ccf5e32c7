// Shows the changes of a report: filters, and lists that are made where they are looked at.
//
// All that is shown is written as text, never as HTML.
"use strict";
(() => {
  // So many changes are made at a time, when they come near to what is seen.
  const AT_ONCE = 40;
  const NEAR = "1500px";
  // So few are made at once, so that a browser's own search finds them.
  const FEW = 200;
  // What is guessed of the height of a change that has not been made.
  const HEIGHT = 150;
  // What is the same in both texts is folded if it is longer, up to what is around a change.
  const FOLDED = 400;
  const AROUND = 120;
  // Texts without a counterpart are cut behind so many characters.
  const WHOLE = 900;

  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("changes");
  const filters = document.getElementById("filters");
  if (!main) return;
  const select = filters.querySelector("select");
  const search = filters.querySelector("input[type=search]");
  const status = filters.querySelector("[role=status]");
  const reset = filters.querySelector("button");
  const boxes = [...filters.querySelectorAll("input[type=checkbox]")];
  const indexes = new Map(data.changes.map((change, index) => [change.id, index]));
  const languages = new Set(data.pages.map((page) => page.lang));
  // The chunk of each change that is listed.
  let chunks = new Map();

  const make = (name, properties = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    element.append(...children.filter((child) => child !== null && child !== ""));
    return element;
  };
  const number = (value) => value.toLocaleString("en");
  const placeOf = (change) =>
    change.cause === "broken" || !change.new ? change.old ?? change.new : change.new;
  const sectionOf = (change) => data.sections[placeOf(change)[0]];
  const nameOf = (section) => {
    const page = data.pages[section.page];
    return [page.title || page.id, section.title].filter(Boolean).join(" › ");
  };

  // -- one change

  const link = (section, ...children) =>
    // Checked where data are made, and once more where it matters.
    /^https?:\/\//i.test(section.url)
      ? make("a", { href: section.url, rel: "noreferrer" }, ...children)
      : make("span", {}, ...children);

  const code = (text) => make("bdi", {}, make("code", {}, text));

  const named = (place) => {
    const section = data.sections[place[0]];
    return link(section, code(section.referent + (place[1] < 0 ? "" : ` [${place[1]}]`)));
  };

  // What can be left out of a text, with a sign in its place.
  const fold = (text, start, end) =>
    end - start < 20
      ? [text]
      : [
          text.slice(0, start),
          make("span", { class: "gap" }, " … "),
          make("span", { class: "fold" }, text.slice(start, end)),
          text.slice(end),
        ];

  const same = (text, first, last) =>
    text.length > FOLDED
      ? fold(text, first ? 0 : AROUND, last ? text.length : text.length - AROUND)
      : [text];

  const column = (change, title, sign, tag) => {
    const pieces = change.pieces.filter((piece) => piece[0] === "=" || piece[0] === sign);
    const edges = change.pieces.length - 1;
    const text = make("div", { class: "text", dir: "auto" });
    const lang = data.pages[sectionOf(change).page].lang;
    if (/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(lang)) text.lang = lang;
    for (const piece of pieces) {
      const at = change.pieces.indexOf(piece);
      if (piece[0] !== "=") text.append(make(tag, {}, piece[1]));
      else if (!title || edges === 0) text.append(...fold(piece[1], WHOLE, Math.max(WHOLE, piece[1].length)));
      else text.append(...same(piece[1], at === 0, at === edges));
    }
    if (!text.textContent) text.append(make("span", { class: "empty" }, "(no text)"));
    return make("div", { class: "side" }, title ? make("h4", {}, title) : "", text);
  };

  const texts = (change) => {
    if (!change.pieces) return null;
    const sides =
      change.kind === "edited"
        ? [column(change, "Old", "-", "del"), column(change, "New", "+", "ins")]
        : [column(change, "", "=", "span")];
    const found = make("div", { class: sides.length > 1 ? "sides" : "sides one" }, ...sides);
    if (found.querySelector(".fold")) {
      const button = make("button", { type: "button", class: "more", "aria-expanded": "false" });
      button.textContent = "Show the whole text";
      found.append(button);
    }
    return found;
  };

  const fields = (change) => {
    if (!change.fields) return null;
    const list = make("dl", { class: "fields" });
    for (const [name, old, next] of change.fields) {
      list.append(
        make("dt", {}, name),
        make("dd", { dir: "auto" }, make("del", {}, old || "(nothing)"), " ", make("ins", {}, next || "(nothing)"))
      );
    }
    return list;
  };

  const tell = (change) => {
    const line = [];
    const moved = change.old && change.new && change.old[0] !== change.new[0];
    const elsewhere =
      moved &&
      data.sections[change.old[0]].referent + data.sections[change.old[0]].page !==
        data.sections[change.new[0]].referent + data.sections[change.new[0]].page;
    if (elsewhere && change.cause === "broken") {
      line.push("Its text is now in ", named(change.new), ", but no redirect leads there.");
    } else if (elsewhere) {
      line.push("From ", named(change.old), " to ", named(change.new));
      if (change.followed) line.push(", by a redirect");
      line.push(".");
    } else if (change.cause === "broken") {
      line.push("Gone, and nothing says where to.");
    } else if (change.kind === "repositioned") {
      line.push(`From position ${change.old[1]} to ${change.new[1]}.`);
    }
    if (change.reason) line.push(" Why: ", make("bdi", {}, change.reason));
    if (change.gone) {
      line.push(` Markers that are gone: `);
      change.gone.forEach((stay, index) => line.push(index ? ", " : "", code(`stay:${stay}`)));
      line.push(".");
    }
    if (change.what === "passage" && change.kind === "metadata" && !change.fields) {
      line.push("Other metadata.");
    }
    return line;
  };

  const show = (change) => {
    const place = placeOf(change);
    const title =
      change.what === "passage" ? `Passage ${place[1]}` : change.what[0].toUpperCase() + change.what.slice(1);
    const line = tell(change);
    return make(
      "article",
      { class: "change", id: change.id, tabindex: "-1" },
      make(
        "p",
        { class: "head" },
        make("span", {}, make("span", { class: "what" }, line.length ? `${title}. ` : title), ...line),
        make("a", { class: "permalink", href: `#${change.id}`, "aria-label": `Permalink of this change in ${sectionOf(change).referent}` }, "#")
      ),
      texts(change) ?? "",
      fields(change) ?? ""
    );
  };

  // -- lists

  const showSection = (section) => {
    const page = data.pages[section.page];
    const heading = make("h3", {}, link(section, make("bdi", {}, nameOf(section))));
    const lang = languages.size > 1 ? make("span", { class: "lang" }, page.lang) : "";
    return make("div", { class: "section" }, heading, make("p", { class: "referent" }, code(section.referent), lang));
  };

  const fill = (chunk) => {
    if (!chunk.waiting) return;
    const found = chunk.waiting;
    chunk.waiting = null;
    observer.unobserve(chunk);
    let before = null;
    let card = null;
    for (const index of found) {
      const change = data.changes[index];
      const section = sectionOf(change);
      if (!card || section !== before) {
        card = make("section", { class: "card" }, showSection(section));
        chunk.append(card);
        before = section;
      }
      card.append(show(change));
    }
    chunk.style.minHeight = "";
  };

  const observer = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.isIntersecting && fill(entry.target)),
    { rootMargin: NEAR }
  );

  const list = (cause, found) => {
    const group = make(
      "details",
      { id: cause.id, class: `group ${cause.id}`, open: "" },
      make(
        "summary",
        {},
        make("h2", {}, cause.title),
        make("span", { class: "number" }, found.length === cause.count ? number(cause.count) : `${number(found.length)} of ${number(cause.count)}`)
      ),
      make("p", { class: "about" }, cause.about)
    );
    let chunk = null;
    let before = null;
    for (const index of found) {
      const section = placeOf(data.changes[index])[0];
      const size = chunk ? chunk.waiting.length : 0;
      // A section is not divided without need.
      if (!chunk || size >= 2 * AT_ONCE || (size >= AT_ONCE && section !== before)) {
        chunk = make("div", { class: "chunk" });
        chunk.waiting = [];
        group.append(chunk);
      }
      before = section;
      chunk.waiting.push(index);
      chunks.set(index, chunk);
    }
    return group;
  };

  const open = new Map();

  const render = (found) => {
    observer.disconnect();
    for (const group of main.querySelectorAll("details.group")) open.set(group.id, group.open);
    chunks = new Map();
    const groups = [];
    const byCause = new Map(data.causes.map((cause) => [cause.id, []]));
    for (const index of found) byCause.get(data.changes[index].cause).push(index);
    for (const cause of data.causes) {
      const indexesOfCause = byCause.get(cause.id);
      if (!indexesOfCause.length) continue;
      const group = list(cause, indexesOfCause);
      group.open = open.get(cause.id) ?? true;
      groups.push(group);
    }
    if (!groups.length) groups.push(make("p", { class: "none" }, "No change matches."));
    main.replaceChildren(...groups);
    const all = [...main.querySelectorAll(".chunk")];
    for (const chunk of all) chunk.style.minHeight = `${chunk.waiting.length * HEIGHT}px`;
    if (all.length) fill(all[0]);
    if (found.length <= FEW) all.forEach(fill);
    for (const chunk of all) if (chunk.waiting) observer.observe(chunk);
  };

  // -- filters

  let haystack = null;
  const makeHaystack = () =>
    data.changes.map((change) => {
      const places = [change.old, change.new].filter(Boolean).map((place) => data.sections[place[0]]);
      return [
        ...places.flatMap((section) => [section.referent, nameOf(section), section.url]),
        // The old text and the new one, each as it reads.
        ...["-", "+"].map((sign) =>
          (change.pieces ?? []).filter((piece) => piece[0] === "=" || piece[0] === sign).map((piece) => piece[1]).join("")
        ),
        ...(change.fields ?? []).flat(),
        change.reason ?? "",
      ]
        .join("\n")
        .toLowerCase();
    });

  const apply = () => {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const page = select.value === "" ? null : Number(select.value);
    const words = search.value.trim().toLowerCase();
    if (words) haystack ??= makeHaystack();
    const found = [];
    data.changes.forEach((change, index) => {
      if (!wanted.has(change.cause)) return;
      if (page !== null && ![change.old, change.new].some((place) => place && data.sections[place[0]].page === page)) return;
      if (words && !haystack[index].includes(words)) return;
      found.push(index);
    });
    render(found);
    const total = data.changes.length;
    status.textContent =
      found.length === total ? `${number(total)} change${total === 1 ? "" : "s"}` : `${number(found.length)} of ${number(total)} changes`;
    reset.hidden = wanted.size === boxes.length && page === null && !words;
  };

  // A page is offered if it has a change, with the number of those.
  const offerPages = () => {
    const counts = new Map();
    for (const change of data.changes) {
      const pages = new Set([change.old, change.new].filter(Boolean).map((place) => data.sections[place[0]].page));
      for (const page of pages) counts.set(page, (counts.get(page) ?? 0) + 1);
    }
    const pages = [...counts].sort((a, b) => {
      const [first, second] = [data.pages[a[0]], data.pages[b[0]]];
      return first.id < second.id ? -1 : first.id > second.id ? 1 : first.lang < second.lang ? -1 : 1;
    });
    for (const [page, count] of pages) {
      const { id, lang } = data.pages[page];
      const shown = languages.size > 1 ? `${id} (${lang})` : id;
      select.append(make("option", { value: page }, `${shown} – ${number(count)}`));
    }
  };

  // -- permalinks

  const go = () => {
    const name = location.hash.slice(1);
    const group = data.causes.find((cause) => cause.id === name);
    if (group) {
      const found = document.getElementById(name);
      if (found) {
        found.open = true;
        found.scrollIntoView();
      }
      return;
    }
    const index = indexes.get(name);
    if (index === undefined) return;
    if (!chunks.has(index)) {
      for (const box of boxes) box.checked = true;
      select.value = search.value = "";
      apply();
    }
    const chunk = chunks.get(index);
    chunk.closest("details").open = true;
    fill(chunk);
    const element = document.getElementById(name);
    for (const other of main.querySelectorAll(".target")) other.classList.remove("target");
    element.classList.add("target");
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
  };

  // -- printing: all of what is listed, open

  const prepare = () => {
    for (const group of document.querySelectorAll("details")) group.open = true;
    for (const chunk of main.querySelectorAll(".chunk")) fill(chunk);
  };

  main.addEventListener("click", (event) => {
    const button = event.target.closest("button.more");
    if (!button) return;
    const whole = button.parentElement.classList.toggle("whole");
    button.setAttribute("aria-expanded", String(whole));
    button.textContent = whole ? "Show less" : "Show the whole text";
  });
  let timer = 0;
  filters.addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(apply, event.target === search ? 150 : 0);
  });
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("reset", () => setTimeout(apply));
  window.addEventListener("hashchange", go);
  window.addEventListener("beforeprint", prepare);
  matchMedia("print").addEventListener("change", (event) => event.matches && prepare());
  offerPages();
  filters.hidden = false;
  apply();
  go();
  performance.mark("usable");
})();
