// Where a picture is drawn: on the page, where one can point at it, or on a sheet of its own.

export interface Setting {
  document: Document;
  /** In CSS pixels. */
  width: number;
  /** The colour behind it. */
  ground: string;
  /** Whether it answers to a pointer and brings a legend along, both of which need more than a drawing. */
  alive: boolean;
}

/** On the page, so wide. */
export function onPage(width: number): Setting {
  return { document, width, ground: "var(--ground, white)", alive: true };
}
