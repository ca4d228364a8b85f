// The part of Intl that Plot needs at load time, for engines without Intl. The pictures format
// their own figures and never use it.

const plain = class {
  format(value: unknown): string {
    return String(value);
  }
};

globalThis.Intl ??= { NumberFormat: plain, DateTimeFormat: plain } as unknown as typeof Intl;
