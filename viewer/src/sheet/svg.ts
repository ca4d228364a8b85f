// SVG elements from names, attributes and children, in any document, of a browser or not. Text
// stays text.

const SVG = "http://www.w3.org/2000/svg";

export function svg(document: Document, name: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): Element {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  for (const child of children) element.appendChild(typeof child === "string" ? document.createTextNode(printable(child)) : child);
  return element;
}

/** Replaces each character that XML cannot hold (XML 1.0, 2.2) by the replacement character. */
export function printable(text: string): string {
  return text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\u{fffd}");
}

/**
 * Width of a letter in a sans-serif font as a share of its size, rounded up from the mean for
 * safety.
 */
const LETTER = 0.56;

/** Estimated width of a text: there is no font to measure with. */
export function textWidth(text: string, size: number): number {
  return text.length * size * LETTER;
}

/** Text in lines of at most `width`. */
export function wrapText(text: string, width: number, size: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && textWidth(`${last} ${word}`, size) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
