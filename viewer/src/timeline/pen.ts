// The pen that draws the timeline: the few operations of a canvas that it needs, so that a file can
// also be the target.

export interface Pen {
  /**
   * Draws a column one pixel wide at each x from `left` on, from its top, with its height in
   * pixels. Columns without height are left out.
   */
  columns: (left: number, tops: Float64Array, heights: Float64Array, colour: string, opacity: number) => void;
  /** Draws a horizontal line in ink. */
  line: (from: number, to: number, y: number, dashed: boolean) => void;
  box: (x: number, y: number, width: number, height: number, opacity: number) => void;
  /**
   * Draws a text in ink. `anchor` and `baseline` say to which point of the text `x` and `y` belong.
   */
  text: (text: string, x: number, y: number, anchor: "start" | "middle" | "end", baseline: "top" | "middle") => void;
  textWidth: (text: string) => number;
}

/** Pen for a canvas. Clears the old picture first. */
export function canvasPen(context: CanvasRenderingContext2D, width: number, height: number, ink: string): Pen {
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  context.fillStyle = ink;
  context.strokeStyle = ink;
  return {
    columns: (left, tops, heights, colour, opacity) => {
      context.fillStyle = colour;
      context.globalAlpha = opacity;
      // The extra half pixel prevents gaps between two parts of a column.
      for (let i = 0; i < tops.length; i++) if (heights[i]! > 0) context.fillRect(left + i, tops[i]!, 1, heights[i]! + 0.5);
      context.fillStyle = ink;
      context.globalAlpha = 1;
    },
    line: (from, to, y, dashed) => {
      context.setLineDash(dashed ? [4, 4] : []);
      context.beginPath();
      context.moveTo(from, y);
      context.lineTo(to, y);
      context.stroke();
    },
    box: (x, y, w, h, opacity) => {
      context.globalAlpha = opacity;
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
    },
    text: (text, x, y, anchor, baseline) => {
      context.textAlign = anchor === "middle" ? "center" : anchor;
      context.textBaseline = baseline;
      context.fillText(text, x, y);
    },
    textWidth: (text) => context.measureText(text).width,
  };
}
