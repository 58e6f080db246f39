import { err, ok, type Result } from "../core/util/result.ts";

/** A JSON value as the RPC layer sees it. An integer outside the safe range is a bigint, every other number a double. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export type JsonError = { readonly kind: "BadJson"; readonly text: string };

/** Containers may be nested this deep; the bound and its text are those of KDF's parser. */
export const MAX_JSON_DEPTH = 127;

const MAX_U64 = 2n ** 64n - 1n;
const MIN_I64 = -(2n ** 63n);

class Failure extends Error {
  readonly reason: string;
  readonly at: number;
  constructor(reason: string, at: number) {
    super(reason);
    this.reason = reason;
    this.at = at;
  }
}

/**
 * Strict JSON (RFC 8259) from UTF-8 bytes. Own parser for three reasons: the error texts are those clients of KDF see
 * (reference rpc.md 1.2, with line and byte column), depth is bounded, and integers beyond 2^53 stay exact.
 * A repeated key: the last one wins.
 */
export function parseJson(bytes: Uint8Array): Result<Json, JsonError> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // The decoder's own message says nothing a client could use; the sentence below is the outcome.
    return err({ kind: "BadJson", text: "invalid unicode code point: the body is not UTF-8" });
  }
  try {
    return ok(new Parser(text).document());
  } catch (failure) {
    if (failure instanceof Failure) return err({ kind: "BadJson", text: `${failure.reason} at ${position(text, failure.at)}` });
    throw failure;
  }
}

/** Line from 1; column = bytes read in that line. `at` = characters read. */
function position(text: string, at: number): string {
  const before = text.slice(0, Math.min(at, text.length));
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return `line ${line} column ${new TextEncoder().encode(before.slice(lineStart)).length}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// JSON forbids control characters in strings, so they must be named here.
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is the rule of RFC 8259
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    const value = this.#value();
    this.#blanks();
    if (this.#at < this.#text.length) throw new Failure("trailing characters", this.#at + 1);
    return value;
  }

  #value(): Json {
    const c = this.#peek("EOF while parsing a value");
    if (c === "{") return this.#nested(() => this.#object());
    if (c === "[") return this.#nested(() => this.#array());
    if (c === '"') return this.#string();
    if (c === "-" || (c >= "0" && c <= "9")) return this.#number();
    if (c === "t") return this.#word("true", true);
    if (c === "f") return this.#word("false", false);
    if (c === "n") return this.#word("null", null);
    throw new Failure("expected value", this.#at + 1);
  }

  #nested<T>(read: () => T): T {
    this.#at++;
    if (++this.#depth > MAX_JSON_DEPTH) throw new Failure("recursion limit exceeded", this.#at);
    const value = read();
    this.#depth--;
    return value;
  }

  #array(): Json[] {
    const items: Json[] = [];
    if (this.#peek("EOF while parsing a list") === "]") {
      this.#at++;
      return items;
    }
    for (;;) {
      items.push(this.#value());
      const c = this.#peek("EOF while parsing a list");
      if (c !== "," && c !== "]") throw new Failure("expected `,` or `]`", this.#at + 1);
      this.#at++;
      if (c === "]") return items;
      if (this.#peek("EOF while parsing a value") === "]") throw new Failure("trailing comma", this.#at + 1);
    }
  }

  #object(): JsonObject {
    const object: Record<string, Json> = {};
    if (this.#peek("EOF while parsing an object") === "}") {
      this.#at++;
      return object;
    }
    for (;;) {
      if (this.#peek("EOF while parsing an object") !== '"') throw new Failure("key must be a string", this.#at + 1);
      const key = this.#string();
      if (this.#peek("EOF while parsing an object") !== ":") throw new Failure("expected `:`", this.#at + 1);
      this.#at++;
      // defineProperty: a key named __proto__ stays a plain key.
      Object.defineProperty(object, key, { value: this.#value(), enumerable: true, configurable: true, writable: true });
      const c = this.#peek("EOF while parsing an object");
      if (c !== "," && c !== "}") throw new Failure("expected `,` or `}`", this.#at + 1);
      this.#at++;
      if (c === "}") return object;
      if (this.#peek("EOF while parsing a value") === "}") throw new Failure("trailing comma", this.#at + 1);
    }
  }

  #string(): string {
    this.#at++;
    let out = "";
    for (;;) {
      PLAIN_TEXT.lastIndex = this.#at;
      out += PLAIN_TEXT.exec(this.#text)?.[0] ?? "";
      this.#at = PLAIN_TEXT.lastIndex;
      const c = this.#text[this.#at++];
      if (c === undefined) throw new Failure("EOF while parsing a string", this.#at);
      if (c === '"') return out;
      if (c !== "\\") throw new Failure("control character (\\u0000-\\u001F) found while parsing a string", this.#at);
      out += this.#escape();
    }
  }

  #escape(): string {
    const c = this.#text[this.#at++];
    if (c === undefined) throw new Failure("EOF while parsing a string", this.#at);
    if (c !== "u") {
      const plain = ESCAPES[c];
      if (plain === undefined) throw new Failure("invalid escape", this.#at);
      return plain;
    }
    const high = this.#hex4();
    if (high < 0xd800 || high > 0xdfff) return String.fromCharCode(high);
    // Half a pair is no text: it could not be written back as UTF-8.
    if (high > 0xdbff || this.#text.slice(this.#at, this.#at + 2) !== "\\u") {
      throw new Failure("lone leading surrogate in hex escape", this.#at);
    }
    this.#at += 2;
    const low = this.#hex4();
    if (low < 0xdc00 || low > 0xdfff) throw new Failure("lone leading surrogate in hex escape", this.#at);
    return String.fromCharCode(high, low);
  }

  #hex4(): number {
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (digits.length < 4) throw new Failure("EOF while parsing a string", this.#text.length);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new Failure("invalid escape", this.#at + 4);
    this.#at += 4;
    return Number.parseInt(digits, 16);
  }

  #number(): number | bigint {
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.#text)?.[0];
    if (literal === undefined) throw new Failure("invalid number", this.#at + 2);
    this.#at += literal.length;
    const next = this.#text[this.#at] ?? "";
    if (/[0-9.eE]/.test(next)) throw new Failure("invalid number", this.#at + 1);
    const value = Number(literal);
    if (!Number.isFinite(value)) throw new Failure("number out of range", this.#at);
    if (Number.isSafeInteger(value) || !/^-?\d{1,20}$/.test(literal)) return value;
    const exact = BigInt(literal);
    return exact >= MIN_I64 && exact <= MAX_U64 ? exact : value;
  }

  #word<T>(word: string, value: T): T {
    for (const c of word) {
      const found = this.#text[this.#at++];
      if (found === undefined) throw new Failure("EOF while parsing a value", this.#at);
      if (found !== c) throw new Failure("expected ident", this.#at);
    }
    return value;
  }

  /** Next character that is no blank. */
  #peek(atEnd: string): string {
    this.#blanks();
    const c = this.#text[this.#at];
    if (c === undefined) throw new Failure(atEnd, this.#at);
    return c;
  }

  #blanks(): void {
    while (this.#at < this.#text.length && " \t\n\r".includes(this.#text.charAt(this.#at))) this.#at++;
  }
}
