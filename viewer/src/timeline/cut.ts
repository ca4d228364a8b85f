// Texts for little room.

/** Cuts `text` to fit into `room` and marks the cut with an ellipsis. */
export function cut(text: string, room: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= room) return text;
  let end = text.length;
  while (end > 0 && widthOf(`${text.slice(0, end)}…`) > room) end -= 1;
  return end > 0 ? `${text.slice(0, end)}…` : "";
}
