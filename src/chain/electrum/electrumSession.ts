import { RpcError } from "../rpc/rpcError.ts";
import { ElectrumArgs } from "./electrumArgs.ts";
import { badRequest, ELECTRUM_CODE } from "./electrumError.ts";
import type { Delivery, ElectrumLine } from "./electrumFaults.ts";
import {
  ELECTRUM_METHODS,
  type ElectrumContext,
  type ElectrumMethod,
  historyText,
  PROTOCOLS,
  SERVER_NAME,
  type Subscriptions,
  statusOf,
  tipJson,
} from "./electrumMethods.ts";

/** Where the bytes of one connection go. */
export type ElectrumPeer = {
  readonly data: (bytes: Uint8Array) => void;
  /** The server ended the connection; nothing comes after it. */
  readonly closed: () => void;
};

/** Longest line taken, bytes, and most calls of one batch. */
const MAX_LINE_BYTES = 1_000_000;
const MAX_BATCH = 1_000;
const NEWLINE = 10;
const FLOOD_PIECE = 65_536;

const failure = (code: number, message: string): RpcError => new RpcError(code, message);

/** Null: refused for its length. ElectrumX then tells a status without a value and forgets the subscription. */
function toldText(from: Pick<ElectrumContext, "view" | "faults">, scriptHash: string): string | null {
  try {
    return historyText(from, scriptHash);
  } catch (cause) {
    if (cause instanceof RpcError) return null;
    throw cause;
  }
}

/** One connection: lines of JSON-RPC 2.0 in, answers and notifications out. `server.version` must come first. */
export class ElectrumSession {
  readonly #context: ElectrumContext;
  readonly #subscriptions: Subscriptions = { header: null, scripts: new Map() };
  readonly #peer: ElectrumPeer;
  #left: Uint8Array[] = [];
  #leftBytes = 0;
  /** Agreed on; null before `server.version`. */
  #protocol: string | null = null;
  #closed = false;

  constructor(context: Omit<ElectrumContext, "subscriptions">, peer: ElectrumPeer) {
    this.#context = { ...context, subscriptions: this.#subscriptions };
    this.#peer = peer;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  receive(bytes: Uint8Array): void {
    let rest = bytes;
    for (let end = rest.indexOf(NEWLINE); end >= 0 && !this.#closed; end = rest.indexOf(NEWLINE)) {
      this.#left.push(rest.subarray(0, end));
      const line = Buffer.concat(this.#left).toString("utf8");
      this.#left = [];
      this.#leftBytes = 0;
      this.#line(line);
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) this.#left.push(rest.slice());
    this.#leftBytes += rest.length;
    if (this.#leftBytes > MAX_LINE_BYTES) this.close();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#left = [];
    this.#peer.closed();
  }

  /** Tells what changed of that which is subscribed. */
  notify(): void {
    const { view, faults } = this.#context;
    const { header, scripts } = this.#subscriptions;
    if (header !== null && view.tip.block.hash !== header) {
      this.#subscriptions.header = view.tip.block.hash;
      this.#send({ jsonrpc: "2.0", method: "blockchain.headers.subscribe", params: [tipJson(view)] });
    }
    for (const [scriptHash, told] of scripts) {
      const text = toldText({ view, faults }, scriptHash);
      if (text === told) continue;
      if (text === null) scripts.delete(scriptHash);
      else scripts.set(scriptHash, text);
      const status = text === null ? null : statusOf(text);
      this.#send({ jsonrpc: "2.0", method: "blockchain.scripthash.subscribe", params: [scriptHash, status] });
    }
  }

  #send(message: object): void {
    this.#write(`${JSON.stringify(message)}\n`);
  }

  #write(text: string): void {
    if (!this.#closed) this.#peer.data(Buffer.from(text, "utf8"));
  }

  #line(line: string): void {
    let parsed: unknown;
    try {
      parsed = JSON.parse(line);
    } catch {
      this.#send(errorReply(null, failure(ELECTRUM_CODE.parse, "invalid JSON")));
      return;
    }
    if (!Array.isArray(parsed)) {
      this.#carryOut(
        [parsed],
        () => this.#call(parsed),
        (code, message) => refusal(parsed, code, message),
      );
      return;
    }
    if (parsed.length === 0 || parsed.length > MAX_BATCH) {
      this.#send(errorReply(null, failure(ELECTRUM_CODE.invalidRequest, `a batch has 1 to ${MAX_BATCH} calls`)));
      return;
    }
    const batch: readonly unknown[] = parsed;
    const all = (each: (one: unknown) => object | null) => (): object | null => {
      const replies = batch.flatMap((one) => each(one) ?? []);
      return replies.length > 0 ? replies : null;
    };
    this.#carryOut(
      batch,
      all((one) => this.#call(one)),
      (code, message) => all((one) => refusal(one, code, message))(),
    );
  }

  #carryOut(calls: readonly unknown[], answer: () => object | null, refuse: ElectrumLine["refuse"]): void {
    const methods = calls.flatMap((c) =>
      typeof c === "object" && c !== null && "method" in c && typeof c.method === "string" ? [c.method] : [],
    );
    this.#context.faults.around({ methods, answer, refuse }, (what) => this.#deliver(what));
  }

  #deliver(what: Delivery): void {
    if (what.kind === "answer") this.#send(what.message);
    else if (what.kind === "line") this.#write(`${what.text}\n`);
    else if (what.kind === "endless") this.#flood(what.bytes);
    else this.close();
  }

  /** A piece at a time, so that the other end can hang up. */
  #flood(left: number): void {
    if (left <= 0 || this.#closed) return;
    this.#write("7".repeat(Math.min(left, FLOOD_PIECE)));
    this.#context.faults.soon(() => this.#flood(left - FLOOD_PIECE));
  }

  /** Null: a notification, which gets no answer. */
  #call(request: unknown): object | null {
    if (typeof request !== "object" || request === null || Array.isArray(request)) {
      return errorReply(null, failure(ELECTRUM_CODE.invalidRequest, "request is not a dictionary"));
    }
    const { id, method, params } = request as { id?: unknown; method?: unknown; params?: unknown };
    if (id === undefined) return null;
    if (id !== null && typeof id !== "number" && typeof id !== "string") {
      return errorReply(null, failure(ELECTRUM_CODE.invalidRequest, "invalid id"));
    }
    try {
      if (typeof method !== "string") throw failure(ELECTRUM_CODE.invalidRequest, "method is not a string");
      return { jsonrpc: "2.0", result: this.#run(method, params) ?? null, id };
    } catch (cause) {
      if (cause instanceof RpcError) return errorReply(id, cause);
      throw cause;
    }
  }

  #run(name: string, params: unknown): unknown {
    if (name === "server.version") return this.#version(params);
    if (this.#protocol === null) throw badRequest("use server.version to identify client");
    const method = Object.hasOwn(ELECTRUM_METHODS, name) ? ELECTRUM_METHODS[name] : undefined;
    if (!method || (method.onlyIn ?? this.#protocol) !== this.#protocol)
      throw failure(ELECTRUM_CODE.unknownMethod, `unknown method "${name.slice(0, 100)}"`);
    return method.run(this.#context, new ElectrumArgs(positions(method, params)));
  }

  #version(params: unknown): unknown {
    if (this.#protocol !== null) throw badRequest("server.version already sent");
    const [, wanted = PROTOCOLS[1]] = positions({ params: ["client_name", "protocol_version"], required: 0 }, params);
    const [low, high] = Array.isArray(wanted) ? wanted : [wanted, wanted];
    const agreed = PROTOCOLS.find((protocol) => isWithin(protocol, low, high));
    if (agreed === undefined) throw badRequest(`unsupported protocol version: ${JSON.stringify(wanted).slice(0, 100)}`);
    this.#protocol = agreed;
    return [SERVER_NAME, agreed];
  }
}

/** Whether a protocol lies in the range. */
function isWithin(protocol: string, low: unknown, high: unknown): boolean {
  const parts = (v: unknown): number[] | null =>
    typeof v === "string" && /^\d{1,4}(\.\d{1,4}){0,3}$/.test(v) ? v.split(".").map(Number) : null;
  const [from, to, own] = [parts(low), parts(high), parts(protocol)];
  return from !== null && to !== null && own !== null && compare(from, own) <= 0 && compare(own, to) <= 0;
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The answer to a call that is not carried out. */
function refusal(request: unknown, code: number, message: string): object | null {
  const id = typeof request === "object" && request !== null && "id" in request ? request.id : undefined;
  return id === undefined ? null : errorReply(id, failure(code, message));
}

const errorReply = (id: unknown, { code, message }: RpcError): object => ({ jsonrpc: "2.0", error: { code, message }, id });

function positions(method: Pick<ElectrumMethod, "params" | "required">, params: unknown): readonly unknown[] {
  let list: readonly unknown[];
  if (params === undefined) list = [];
  else if (Array.isArray(params)) list = params;
  else if (typeof params === "object" && params !== null) {
    const named = params as { readonly [key: string]: unknown };
    const unknownName = Object.keys(named).find((key) => !method.params.includes(key));
    if (unknownName !== undefined) throw failure(ELECTRUM_CODE.invalidParams, `unexpected parameter ${unknownName.slice(0, 100)}`);
    list = method.params.map((name) => named[name]);
  } else throw failure(ELECTRUM_CODE.invalidRequest, "params is neither a list nor a dictionary");
  const given = list.findLastIndex((v) => v !== undefined) + 1;
  if (given < method.required || list.length > method.params.length) {
    throw failure(ELECTRUM_CODE.invalidParams, `${method.required} to ${method.params.length} parameters are needed, not ${given}`);
  }
  return list;
}
