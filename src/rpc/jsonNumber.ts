/**
 * A JSON number that is no integer of 64 bits, as it was written: `0.1`, `1.0`, `1e-3`, `-0`, an integer of thirty digits.
 * Amounts must not pass through a double, which keeps some 15 digits; so nothing is computed before a field reads it.
 */
export class JsonNumber {
  readonly source: string;
  /** @param source a number by RFC 8259, within the range of a double */
  constructor(source: string) {
    this.source = source;
  }
}

/** An object of a request: neither a list nor one of the numbers above. */
export const isJsonObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
