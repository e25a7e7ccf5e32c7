// Beside each section's heading, and each block with an anchor, a button that copies the durable
// address and opens a menu with other ways to cite the place.
//
// A function of what it has to know of the site: `name`, `version`, `url` ("" if not known),
// `directories` (whether pages have URLs like folders), `blocks` (whether they may have anchors),
// and `furniture`, the selectors of what is no text. What it has to know of a page are the words
// of the mark before its prose: the page id, then `=` and its URL if that cannot be derived, `^` if
// the first h1 opens a section, `-` and an id that is no place, `+` and each id of a heading
// that is one, if few are. A space in a word is written as a tab.
((site) => {
  "use strict";

  const HEADINGS = "h1,h2,h3,h4,h5,h6";
  const FURNITURE = site.furniture.filter(isSelector).join(",");
  // What the plugin writes into a heading without a permalink: it works without this script.
  const PLAIN = 'a[href^="#"]:empty:not([class], [id], [name])';
  const BLOCK = /^(block|flow-root|flex|grid|list-item|table.*)$/; // values of `display`
  const BARRED = /^(pre|table)$/; // have no line at whose end a button could stand
  const QUOTES = "M4 15V9.5A5 5 0 0 1 9 4.5V7a2.5 2.5 0 0 0-2.5 2.5H9V15zM11 15V9.5a5 5 0 0 1 5-5V7a2.5 2.5 0 0 0-2.5 2.5H16V15z";
  const CHECK = "M7.6 15.4 2.8 10.6 4.4 9l3.2 3.2L15.6 4.2l1.6 1.6z";
  const SHOWN_FOR = 1000; // milliseconds, of what was chosen in the menu
  const EDGE = 8; // pixels between the menu and the edge of the window
  const SIZE = 24; // pixels, of a button
  const BLOCK_TITLE = 60; // characters at most

  // This file is two folders below the root of the site.
  const home = site.url || new URL("../../", document.currentScript.src).href;
  const root = home.replace(/\/*$/, "/");

  let mounted = null; // the mark of the page whose buttons are there
  let buttons = []; // of that page
  let notes = []; // its lists with anchors behind code, each with its button
  let shut = () => {}; // closes the menu that is open

  function isSelector(selector) {
    try {
      document.createDocumentFragment().querySelector(selector);
      return true;
    } catch {
      return false;
    }
  }

  // -- what can be cited

  /** Read what the plugin says of the page. */
  function readPage(mark) {
    const written = mark.dataset.markstayBegin.split(" ");
    const [id, ...words] = written.map((word) => word.replaceAll("\t", " "));
    const told = new Set(words);
    const url = words.find((word) => word.startsWith("="));
    const derived = !site.directories ? `${id}.html` : id === "index" ? "" : `${id}/`;
    const few = words.some((word) => word.startsWith("+"));
    return {
      mark,
      id,
      url: url ? url.slice(1) : derived,
      named: told.has("^"),
      opens: (each) => (few ? told.has(`+${each}`) : !told.has(`-${each}`)),
      anchors: (each) => !told.has(`-${each}`),
    };
  }

  /** List the elements in the page's prose that a selector names. */
  function list(page, selector) {
    const ends = document.querySelectorAll("[data-markstay-end]");
    const end = ends[ends.length - 1];
    return [...document.querySelectorAll(selector)].filter(
      (element) =>
        page.mark.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING &&
        end.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING &&
        !(FURNITURE && element.closest(FURNITURE)),
    );
  }

  /** List the headings that open sections, the page's own with the id "". */
  function findOpeners(page) {
    const seen = new Set();
    const openers = [];
    let first = true;
    for (const element of list(page, HEADINGS)) {
      const own = first && element.localName === "h1";
      first = first && !own;
      const { id } = element;
      if (id && !seen.has(id) && (own ? page.named : page.opens(id))) {
        seen.add(id);
        openers.push({ element, id });
      } else if (own) {
        openers.push({ element, id: "" });
      }
    }
    return openers;
  }

  /** Give the element with which the text of a heading's section ends. */
  function scopeOf(heading) {
    let parent = heading.parentElement;
    while (/^(header|hgroup)$/.test(parent.localName)) parent = parent.parentElement;
    return parent;
  }

  /** List the headings around an element, the outermost first, its own last if it is one. */
  function findPath(openers, element) {
    let path = [];
    for (const opener of openers) {
      if (opener.element.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING) break;
      if (!scopeOf(opener.element).contains(element)) continue;
      const level = Number(opener.element.localName[1]);
      path = opener.id ? path.filter((each) => Number(each.element.localName[1]) < level) : [];
      if (opener.id) path.push(opener);
    }
    return path;
  }

  /** Read the text of an element, without what is no text. */
  function readText(element) {
    const copy = element.cloneNode(true);
    for (const each of copy.querySelectorAll(FURNITURE || "button")) each.remove();
    for (const each of copy.querySelectorAll("br")) each.replaceWith(" ");
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  function readPageTitle(openers) {
    const own = openers.find(({ id }) => !id) || openers.find((each) => each.element.localName === "h1");
    const heading = own ? own.element : document.querySelector("h1");
    const end = ` - ${site.name}`;
    const title = document.title;
    return heading ? readText(heading) : title.endsWith(end) ? title.slice(0, -end.length) : title;
  }

  /** Name a place: its own text, a block's shortened. */
  function nameOf({ element, block }) {
    const whole = block && !element.childNodes.length ? element.parentElement : element;
    const text = readText(whole) || element.id;
    if (!block || text.length <= BLOCK_TITLE) return text;
    return `${text.slice(0, BLOCK_TITLE).replace(/\s+\S*$/, "")} …`;
  }

  // -- what is copied

  /** Write an id behind the # as the manifest does. */
  function quoteFragment(id) {
    return encodeURIComponent(id).replace(/%(24|26|2B|2C|3A|3B|3D|2F|3F|40)/g, decodeURIComponent);
  }

  function escapeTitle(title) {
    return title.replace(/[\\[\]`*_<>&]/g, "\\$&");
  }

  function escapeUrl(url) {
    return url.replace(/[\s()<>\\]/g, (each) =>
      /[()]/.test(each) ? `%${each.charCodeAt(0).toString(16)}` : encodeURIComponent(each));
  }

  /** Give all ways to cite a place: their names, and what is copied. */
  function cite(page, openers, place) {
    const url = root + page.url + (place.id ? `#${quoteFragment(place.id)}` : "");
    const title = nameOf(place);
    const path = findPath(openers, place.element).map(({ element }) => element);
    // Under no h1 of its own, a section stands under the page's title.
    const titles = path.length && path[0].localName === "h1" ? [] : [readPageTitle(openers)];
    const above = place.id ? [...titles, ...path.map(readText)] : [];
    if (place.id && !place.block) above.pop(); // its own title
    const within = place.block ? above.join(" › ") : title;
    const publication = site.version ? `${site.name}, version ${site.version}` : site.name;
    const reference = [`“${title}”`, above.join(" › "), publication].filter(Boolean);
    return {
      title,
      ways: [
        ["URL", url],
        ["Referent", place.id ? `${page.id}#${place.id}` : page.id],
        ["Markdown link", `[${escapeTitle(within)}](${escapeUrl(url)})`],
        ["Reference", `${reference.join(". ")}. ${url}`],
      ],
    };
  }

  /** Put a text on the clipboard: whether that is done. */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not there without https, or not allowed.
      const before = document.activeElement;
      const field = make("textarea", "markstay-unseen", { readonly: "", tabindex: "-1" });
      field.value = text;
      (document.querySelector(".markstay-menu") || document.body).append(field);
      field.select();
      let done = false;
      try {
        done = document.execCommand("copy");
      } catch {
        // The same as no.
      }
      field.remove();
      before?.focus({ preventScroll: true });
      return done;
    }
  }

  // -- what is shown

  function make(name, css, attributes, ...children) {
    const element = document.createElement(name);
    element.className = css;
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    element.append(...children);
    return element;
  }

  function draw(path) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", "0 0 20 20");
    svg.setAttribute("aria-hidden", "true");
    shape.setAttribute("d", path);
    svg.append(shape);
    return svg;
  }

  /** Tell a screen reader. */
  function say(text) {
    let status = document.querySelector(".markstay-status");
    if (!status) {
      status = make("div", "markstay-status markstay-unseen", { role: "status" });
      document.body.append(status);
    }
    status.textContent = "";
    setTimeout(() => (status.textContent = text), 50);
  }

  /** Show what was copied, or a field to copy it from. */
  function show(said, name, text, copied) {
    said.classList.toggle("markstay-done", copied);
    if (copied) {
      said.replaceChildren(draw(CHECK), `${name} copied`);
      say(`${name} copied`);
      return;
    }
    const field = make("input", "", { readonly: "", "aria-label": `${name}, to be copied` });
    field.value = text;
    said.replaceChildren(`Copy the ${name === "URL" ? name : name.toLowerCase()} from here:`, field);
    field.focus();
    field.select();
  }

  function open(button, { title, ways }, copied) {
    const said = make("p", "markstay-said", {});
    const items = ways.map(([name, text]) => {
      const attributes = { type: "button", role: "menuitem", tabindex: "-1" };
      const label = make("span", "", {}, name);
      const item = make("button", "", attributes, label, make("span", "markstay-shown", {}, text));
      item.addEventListener("click", async () => {
        const done = await copy(text);
        show(said, name, text, done);
        if (done) setTimeout(leaveOrStay, SHOWN_FOR);
      });
      return item;
    });
    const list = make("div", "", { role: "menu", "aria-label": `Cite: ${title}` }, ...items);
    const menu = make("div", "markstay-menu", {}, said, list);

    const follow = () => place(menu, button);

    function close(back) {
      shut = () => {};
      menu.remove();
      button.setAttribute("aria-expanded", "false");
      document.removeEventListener("pointerdown", leave, true);
      removeEventListener("resize", follow);
      if (back) button.focus({ preventScroll: true });
    }
    function leaveOrStay() {
      if (menu.isConnected) close(menu.contains(document.activeElement));
    }
    function leave(event) {
      if (!menu.contains(event.target) && !button.contains(event.target)) close(false);
    }
    function move(event) {
      const at = items.indexOf(document.activeElement);
      const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1 }[event.key];
      if (event.key === "Escape" || event.key === "Tab") {
        close(true);
        if (event.key === "Tab") return; // and goes on from the button
      } else if (to === undefined || event.target.localName === "input") {
        return;
      } else {
        items[(to + items.length) % items.length].focus();
      }
      event.preventDefault();
      event.stopPropagation();
    }
    menu.addEventListener("keydown", move);
    menu.addEventListener("focusout", (event) => {
      const to = event.relatedTarget;
      if (to && !menu.contains(to) && !button.contains(to)) leaveOrStay();
    });
    document.addEventListener("pointerdown", leave, true);
    addEventListener("resize", follow);
    shut = () => close(false);
    button.setAttribute("aria-expanded", "true");
    document.body.append(menu);
    items[0].focus({ preventScroll: true });
    show(said, copied ? "Address" : "URL", ways[0][1], copied);
    place(menu, button);
    // Where there is room for it neither below nor above, in a low window.
    menu.scrollIntoView({ block: "nearest" });
  }

  /** Put the menu below its button, or above it, inside of the window. */
  function place(menu, button) {
    menu.style.left = menu.style.top = "0";
    const at = button.getBoundingClientRect();
    const own = menu.getBoundingClientRect();
    const below = at.bottom + 4;
    const above = at.top - own.height - 4;
    const fits = below + own.height <= innerHeight - EDGE || above < EDGE;
    const right = document.documentElement.clientWidth - EDGE - own.width;
    menu.style.left = `${Math.max(EDGE, Math.min(at.left, right)) - own.left}px`;
    menu.style.top = `${(fits ? below : above) - own.top}px`;
  }

  function addButton(page, openers, where, put) {
    const what = where.block ? "block" : where.id ? "section" : "page";
    const button = make(
      "button",
      "markstay-cite",
      {
        type: "button",
        "aria-label": `Cite: ${nameOf(where)}`,
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        title: `Cite this ${what}`,
      },
      draw(QUOTES),
    );
    button.addEventListener("click", async (event) => {
      event.preventDefault(); // it may stand in a link, or in the line of a fold
      const again = button.getAttribute("aria-expanded") === "true";
      shut();
      if (again) return button.focus();
      const citation = cite(page, openers, where);
      const copied = await copy(citation.ways[0][1]);
      shut();
      open(button, citation, copied);
    });
    // Until it is arranged it stands over the text, so that no page is wider than its window.
    button.style.translate = `${inwards()}px`;
    put(button);
    return button;
  }

  /** Put a button where the first line of text in a block ends; beside code and tables. */
  function putInBlock(element, button) {
    if (BARRED.test(element.localName)) return putBeside(element, button);
    // An anchor without content stands at the beginning of its block.
    let [parent, node] = element.childNodes.length ? [element, element.firstChild] : [element.parentNode, element];
    let blank = true;
    while (node) {
      const name = node.localName;
      if (node.nodeType === Node.TEXT_NODE) {
        blank = blank && !node.data.trim();
      } else if (name && !/^(summary|label|input|button|script|style)$/.test(name)) {
        if (BARRED.test(name)) return putBeside(node, button);
        const block = BLOCK.test(getComputedStyle(node).display);
        if (block && !blank) break;
        if (block && node.firstChild) {
          [parent, node] = [node, node.firstChild];
          continue;
        }
        blank = blank && node === element;
      }
      node = node.nextSibling;
    }
    parent.insertBefore(button, node);
  }

  function putBeside(element, button) {
    button.classList.add("markstay-beside");
    element.before(button);
  }

  /** Put the button of notes beside their code, where a theme has taken them into it (Material). */
  function followNotes() {
    const taken = notes.filter(({ element }) => element.hidden);
    if (!taken.length) return;
    notes = notes.filter(({ element }) => !element.hidden);
    for (const { element, button } of taken) putInBlock(element.previousElementSibling, button);
    arrange();
  }

  /** Give the direction, in pixels, from the end of a line into it. */
  function inwards() {
    return getComputedStyle(document.documentElement).direction === "rtl" ? SIZE : -SIZE;
  }

  /** Move buttons into the margin or after one another, and keep all inside of the window. */
  function arrange() {
    const into = inwards();
    const most = document.documentElement.clientWidth - SIZE;
    const shown = buttons.filter((button) => button.getClientRects().length); // in open tabs
    const places = shown.map((button) =>
      button.getBoundingClientRect().left - (parseFloat(button.style.translate) || 0));
    shown.forEach((button, number) => {
      const beside = button.matches(".markstay-beside");
      const second = button.previousElementSibling?.matches(".markstay-cite");
      const by = beside ? into : second ? -into : 0;
      const to = Math.max(0, Math.min(most, places[number] + by)) - places[number];
      // In the margin the second one stands below the first.
      button.style.translate = `${to}px ${beside && second ? SIZE : 0}px`;
    });
  }

  /** Put the buttons into the page that is shown, if they are not there yet. */
  function mount() {
    const mark = document.querySelector("[data-markstay-begin]:not([data-markstay-begin=''])");
    if (mark === mounted) return followNotes();
    shut();
    [mounted, buttons, notes] = [mark, [], []];
    if (!mark) return;
    const page = readPage(mark);
    const openers = findOpeners(page);
    buttons = openers.map((opener) =>
      addButton(page, openers, opener, (button) => {
        for (const link of opener.element.querySelectorAll(PLAIN)) link.remove();
        // Before a permalink that comes and goes: the button would move away from below a finger.
        const last = opener.element.lastElementChild;
        const fleeting = last && getComputedStyle(last).display === "none";
        opener.element.insertBefore(button, fleeting ? last : null);
      }));
    for (const element of site.blocks ? list(page, '[id^="stay-"]') : []) {
      const { id } = element;
      // The marker of a heading is that of its section, if it opens one.
      if (!page.anchors(id) || openers.some((opener) => opener.element.contains(element))) continue;
      const button = addButton(page, openers, { element, id, block: true }, (made) => putInBlock(element, made));
      buttons.push(button);
      if (element.matches("* + ol")) notes.push({ element, button });
    }
    arrange();
    followNotes();
    sizes.disconnect();
    for (const element of [document.documentElement, mark.parentElement]) sizes.observe(element);
  }

  // The window, or what is shown of the page: a tab was opened.
  const sizes = new ResizeObserver(arrange);

  function start() {
    mount();
    // Where a theme puts the next page into this one.
    new MutationObserver(mount).observe(document.body, { childList: true, subtree: true });
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})
