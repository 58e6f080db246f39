const REDACTED = "[redacted]";

/** A value that must never be printed. Every implicit way to text gives `[redacted]`; `reveal()` is easy to grep for. */
export class Secret<T> {
  readonly #value: T;
  constructor(value: T) {
    this.#value = value;
  }
  reveal(): T {
    return this.#value;
  }
  toJSON(): string {
    return REDACTED;
  }
  toString(): string {
    return REDACTED;
  }
  /** The hook node's inspector and console look for. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return REDACTED;
  }
}
