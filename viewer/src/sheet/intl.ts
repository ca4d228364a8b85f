// What Plot asks of Intl as it is loaded, where the engine has none. The pictures write their own figures and never use it.

const plain = class {
  format(value: unknown): string {
    return String(value);
  }
};

globalThis.Intl ??= { NumberFormat: plain, DateTimeFormat: plain } as unknown as typeof Intl;
