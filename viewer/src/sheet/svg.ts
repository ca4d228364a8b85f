// SVG elements from names, attributes and children, in a document that need not be a browser's. Text is only ever text.

const SVG = "http://www.w3.org/2000/svg";

export function svg(document: Document, name: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): Element {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  for (const child of children) element.appendChild(typeof child === "string" ? document.createTextNode(printable(child)) : child);
  return element;
}

/** What XML cannot hold (XML 1.0, 2.2) is shown as what cannot be shown. */
export function printable(text: string): string {
  return text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\u{fffd}");
}

/** The share of its size that a letter of a sans-serif font is wide, on the safe side of the mean. */
const LETTER = 0.56;

/** About how wide a text is: there is no font to ask. */
export function widthOf(text: string, size: number): number {
  return text.length * size * LETTER;
}

/** A text in lines of at most `width`. */
export function wrapped(text: string, width: number, size: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(`${last} ${word}`, size) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
