import { err, ok, type Result } from "../core/util/result.ts";
import { JsonNumber } from "./jsonNumber.ts";

/** A JSON value as the RPC layer sees it: no number of it has passed through a double. */
export type Json = null | boolean | JsonNumeric | string | readonly Json[] | JsonObject;
/** An integer in the safe range is a number, one that fits 64 bits a bigint, everything else its text. */
export type JsonNumeric = number | bigint | JsonNumber;
export type JsonObject = { readonly [key: string]: Json };

export type JsonError = { readonly kind: "BadJson"; readonly text: string };

/** Containers may be nested this deep; the bound and its text are those of KDF's parser. */
export const MAX_JSON_DEPTH = 127;
/** Values in one body. A body of `[],[],…` would otherwise take many times its own size in memory. */
export const MAX_JSON_VALUES = 1_000_000;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
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
    text = UTF8.decode(bytes);
  } catch {
    // Not UTF-8. Read byte by byte, to tell where: one character of the text is one byte then.
    return parseText(latin1(bytes), bytes);
  }
  return parseText(text, null);
}

/** @param bytes the body, when one character stands for one byte of it */
function parseText(text: string, bytes: Uint8Array | null): Result<Json, JsonError> {
  try {
    return ok(new Parser(text, bytes).document());
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    return err({ kind: "BadJson", text: `${failure.reason} at ${position(text, failure, bytes !== null)}` });
  }
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4_096) text += String.fromCharCode(...bytes.subarray(at, at + 4_096));
  return text;
}

/** Line from 1; column = bytes read in that line: of the character that is wrong only the first. `at` = characters read. */
function position(text: string, { at, reason }: Failure, bytewise: boolean): string {
  const before = text.slice(0, Math.min(at, text.length));
  const inLine = before.slice(before.lastIndexOf("\n") + 1);
  let line = 1;
  for (let end = before.indexOf("\n"); end >= 0; end = before.indexOf("\n", end + 1)) line++;
  const bytesOf = (part: string): number => (bytewise ? part.length : new TextEncoder().encode(part).length);
  return `line ${line} column ${reason.startsWith("EOF") || inLine === "" ? bytesOf(inLine) : bytesOf(inLine.slice(0, -1)) + 1}`;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    UTF8.decode(bytes);
    return true;
  } catch {
    // The outcome is the answer.
    return false;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const BLANKS = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// JSON forbids control characters in strings, so they must be named here.
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is the rule of RFC 8259
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;

class Parser {
  readonly #text: string;
  readonly #bytes: Uint8Array | null;
  #at = 0;
  #depth = 0;
  #values = 0;

  constructor(text: string, bytes: Uint8Array | null) {
    this.#text = text;
    this.#bytes = bytes;
  }

  document(): Json {
    const value = this.#value();
    this.#blanks();
    if (this.#at < this.#text.length) throw new Failure("trailing characters", this.#at + 1);
    return value;
  }

  #value(): Json {
    const c = this.#peek("EOF while parsing a value");
    if (++this.#values > MAX_JSON_VALUES) throw new Failure(`more than ${MAX_JSON_VALUES} values`, this.#at);
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
    const start = ++this.#at;
    let out = "";
    for (;;) {
      PLAIN_TEXT.lastIndex = this.#at;
      out += PLAIN_TEXT.exec(this.#text)?.[0] ?? "";
      this.#at = PLAIN_TEXT.lastIndex;
      const c = this.#text[this.#at++];
      if (c === undefined) throw new Failure("EOF while parsing a string", this.#at);
      if (c === '"') {
        if (this.#bytes !== null && !isUtf8(this.#bytes.subarray(start, this.#at - 1))) {
          throw new Failure("invalid unicode code point", this.#at);
        }
        return out;
      }
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
    // Half a pair is no text: it could not be written back as UTF-8. The words for a second half alone are the reference parser's, too.
    if (high > 0xdbff) throw new Failure("lone leading surrogate in hex escape", this.#at);
    for (const expected of "\\u") {
      const found = this.#text[this.#at++];
      if (found === undefined) throw new Failure("EOF while parsing a string", this.#text.length);
      if (found !== expected) throw new Failure("unexpected end of hex escape", this.#at);
    }
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

  #number(): JsonNumeric {
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.#text)?.[0];
    if (literal === undefined) throw new Failure("invalid number", this.#at + 2);
    this.#at += literal.length;
    const next = this.#text[this.#at] ?? "";
    if (/[0-9.eE]/.test(next)) throw new Failure("invalid number", this.#at + 1);
    const value = Number(literal);
    // What KDF cannot read breaks the whole body here, too, even where its digits could be kept.
    if (!Number.isFinite(value)) throw new Failure("number out of range", this.#at);
    if (!/^-?\d+$/.test(literal) || Object.is(value, -0)) return new JsonNumber(literal);
    if (Number.isSafeInteger(value)) return value;
    const exact = BigInt(literal);
    return exact >= MIN_I64 && exact <= MAX_U64 ? exact : new JsonNumber(literal);
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
    BLANKS.lastIndex = this.#at;
    BLANKS.exec(this.#text);
    this.#at = BLANKS.lastIndex;
  }
}
