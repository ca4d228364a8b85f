// The setting of a picture: on the page, with a pointer, or on a sheet of its own.

export interface Setting {
  document: Document;
  /** Width in CSS pixels. */
  width: number;
  /** Colour behind the picture. */
  ground: string;
  /**
   * Whether the picture reacts to a pointer and has a legend of its own. Both need more than a
   * drawing.
   */
  interactive: boolean;
}

/** Setting of a picture on the page, `width` CSS pixels wide. */
export function onPage(width: number): Setting {
  return { document, width, ground: "var(--ground, white)", interactive: true };
}
