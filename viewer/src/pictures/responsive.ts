// A picture in its place on the page.

import { h } from "../dom.ts";

/** Picture that is redrawn after each change of its width on the page. */
export function responsive(draw: (width: number) => Element, label: () => string): { element: HTMLElement; redraw: () => void } {
  const element = h("div", { class: "picture", role: "img" });
  let last = 0;
  const redraw = () => {
    if (last < 50) return;
    element.setAttribute("aria-label", label());
    const picture = draw(last);
    // The label describes the whole picture in words. The picture's parts mean nothing to a screen
    // reader (ARIA 1.2, 5.2.8.6).
    picture.setAttribute("aria-hidden", "true");
    element.replaceChildren(picture);
  };
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry!.contentRect.width);
    if (width === last) return;
    last = width;
    redraw();
  }).observe(element);
  return { element, redraw };
}
