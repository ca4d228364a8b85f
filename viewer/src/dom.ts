// Elements from names, attributes and children. Text stays text: nothing in the viewer parses
// markup, so no string of a study can become markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

/**
 * Creates an element. Attributes whose value is a function are listeners; `false` and `undefined`
 * leave an attribute out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(typeof child === "object" ? child : document.createTextNode(String(child)));
  }
}

/** Section with a heading that the page's navigation and a screen reader find. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

let radios = 0;

/** Choice of one of several options, as radio buttons. */
export function choice<Value>(label: string, options: [Value, string][], chosen: Value, choose: (value: Value) => void): HTMLElement {
  const name = `choice-${radios++}`;
  const buttons = options.map(([value, text]) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name, value: text, checked: value === chosen, change: () => choose(value) }),
      h("span", {}, text),
    ),
  );
  return h("fieldset", { class: "choice" }, h("legend", {}, label), ...buttons);
}

export function checkbox(label: string, checked: boolean, change: (on: boolean) => void): HTMLElement {
  const input = h("input", { type: "checkbox", checked, change: () => change(input.checked) });
  return h("label", { class: "check" }, input, h("span", {}, label));
}

/** Hands `text` to the reader as a file. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
