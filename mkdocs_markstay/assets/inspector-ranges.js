// Where the passages of a page are in its document: elements, and ranges of text in them.
//
// A block that has an element for itself is that element. Parts of a long block, and text in no
// element of its own, are found by their letters and digits: white space and signs are written
// in another way in a passage.

const LETTER = /[\p{L}\p{N}]/u;
const lettersOf = (text) => Array.from(text).filter((sign) => LETTER.test(sign)).join("");

/** Read the letters of an element with the place of each, without what is not text. */
function readLetters(root) {
  const filter = (node) =>
    node.nodeType === Node.ELEMENT_NODE && node.hasAttribute("data-markstay-furniture")
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT;
  const walker = document.createTreeWalker(
    root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, filter);
  const places = [];
  let letters = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const inText = node.nodeType === Node.TEXT_NODE;
    const text = inText ? node.data : node.localName === "img" ? node.alt : "";
    let offset = 0;
    for (const sign of text) {
      if (LETTER.test(sign)) {
        letters += sign;
        for (let unit = 0; unit < sign.length; unit++) {
          places.push([node, inText ? offset : -1, sign.length]);
        }
      }
      offset += sign.length;
    }
  }
  return { letters, places };
}

/** Make the range of some letters, `first` to before `end`. */
function makeRange({ places }, first, end) {
  const range = document.createRange();
  const [begin, from] = places[first];
  const [last, to, size] = places[end - 1];
  if (from < 0) range.setStartBefore(begin);
  else range.setStart(begin, from);
  if (to < 0) range.setEndAfter(last);
  else range.setEnd(last, to + size);
  return range;
}

/** Find the parts of a block that is longer than a passage, in the order of the parts. */
function findParts(element, parts) {
  const read = readLetters(element);
  const begins = [];
  let from = 0;
  for (const part of parts) {
    const wanted = lettersOf(part.begin || "").slice(0, 60);
    const found = read.letters.indexOf(wanted, from);
    begins.push(wanted && found >= 0 ? found : -1);
    if (found >= 0) from = found + 1;
  }
  begins.push(read.letters.length);
  parts.forEach((part, number) => {
    const [first, end] = [begins[number], begins[number + 1]];
    if (first >= 0 && end > first) part.range = makeRange(read, first, end);
  });
}

/** Find text that has no element of its own: behind what comes before it, if it is there. */
function findLoose(read, text, before) {
  const wanted = lettersOf(text);
  if (!wanted) return null;
  let first = null;
  for (let at = read.letters.indexOf(wanted); at >= 0; at = read.letters.indexOf(wanted, at + 1)) {
    const range = makeRange(read, at, at + wanted.length);
    first ??= range;
    if (!before || before.compareBoundaryPoints(Range.START_TO_END, range) <= 0) return range;
  }
  return first;
}

/** The element that holds the prose of the page, null if it is marked nowhere. */
export const findRoot = () => document.querySelector("[data-markstay-begin]")?.parentElement ?? null;

/**
 * Find where passages are. Gives with each a list of pieces with `element`, or `range`, or none
 * of the two if a script of the theme has taken the place away.
 */
export function findPieces(passages) {
  const root = findRoot();
  const elements = new Map();
  for (const element of root?.querySelectorAll("[data-markstay-at]") ?? []) {
    elements.set(Number(element.dataset.markstayAt), element);
  }
  let whole = null;
  let before = null;
  const parts = new Map();
  const located = passages.map((passage) => passage.pieces.map((piece) => {
    const found = { ...piece, element: elements.get(piece.at) ?? null, range: null };
    if (found.element && piece.of > 1) {
      if (!parts.has(found.element)) parts.set(found.element, []);
      parts.get(found.element).push(found);
    } else if (piece.at === null && root) {
      whole ??= readLetters(root);
      found.range = findLoose(whole, piece.begin || "", before);
    }
    if (found.range) before = found.range;
    else if (found.element) {
      before = document.createRange();
      before.selectNodeContents(found.element);
    }
    return found;
  }));
  for (const [element, pieces] of parts) findParts(element, pieces);
  return located;
}

/** The text of a piece, as it can be compared with that of a passage. */
export function lettersIn(piece) {
  const holder = document.createElement("div");
  if (piece.range) holder.append(piece.range.cloneContents());
  else if (piece.element) holder.append(piece.element.cloneNode(true));
  return readLetters(holder).letters;
}

/** Where a piece is in the window; null if it is not shown. */
export function boxOf(piece) {
  const box = (piece.range ?? piece.element)?.getBoundingClientRect();
  if (!box || !box.width || !box.height) return null;
  // The number of a note stands beside its text.
  const beside = !piece.range && piece.element.localName === "li" ? 20 : 0;
  return new DOMRect(box.x - beside, box.y, box.width + beside, box.height);
}

/** Put the pieces of a passage together that have nothing of another passage between them. */
export function findRuns(located) {
  const every = located.flatMap((pieces, passage) =>
    pieces.filter((piece) => piece.range || piece.element).map((piece) => ({ piece, passage })));
  const start = ({ piece }) => {
    if (piece.range) return piece.range;
    const range = document.createRange();
    range.selectNode(piece.element);
    return range;
  };
  const sorted = every.map((each) => ({ ...each, start: start(each) }))
    .sort((a, b) => a.start.compareBoundaryPoints(Range.START_TO_START, b.start));
  const runs = [];
  for (const { piece, passage } of sorted) {
    const last = runs.at(-1);
    if (last?.passage === passage) last.pieces.push(piece);
    else runs.push({ passage, pieces: [piece] });
  }
  const seen = new Map();
  for (const run of runs) {
    run.number = seen.get(run.passage) ?? 0;
    seen.set(run.passage, run.number + 1);
  }
  return runs;
}
