import { startAnvilProcess } from "../../src/devnet/anvilProcess.ts";

/** npm serves the program for this platform; anywhere else there is none to start. */
const isServed = process.platform === "linux" && process.arch === "x64";
/** A shared machine may stand still for a while: only a chain that hangs for good is to fail. */
const CALL_MS = 60_000;

/** For `describe.skipIf`: true only where no program exists for the platform and this is not CI. A missing program is a failure elsewhere. */
export const noAnvil = !isServed && process.env.CI === undefined;
/** For the name of a suite, so that the list of skipped tests says why. */
export const noAnvilReason = noAnvil ? " (skipped: no anvil for this platform)" : "";

export type AnvilOptions = {
  /** Default 31337. */
  readonly chainId?: number;
  /** A block every so many seconds; default: one for each transaction, at once. */
  readonly blockTimeSec?: number;
  /** Blocks only on `evm_mine`. */
  readonly noMining?: boolean;
  /** Timestamp of the first block, seconds; default: now. */
  readonly timestampSec?: number;
  /** Rules of the chain, for example `istanbul`, `paris`, `prague`; default: the newest the program knows. */
  readonly hardfork?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Anything else of its command line. */
  readonly args?: readonly string[];
};

/** An account with coins from the first block on; all in lower case with `0x`. */
export type AnvilAccount = { readonly address: string; readonly privateKey: string };

export type AnvilCall = { readonly method: string; readonly params: readonly unknown[] };

export type Anvil = {
  readonly url: string;
  readonly wsUrl: string;
  readonly port: number;
  /** Ten accounts of 10,000 coins, the same in every run. */
  readonly accounts: readonly AnvilAccount[];
  /** One JSON-RPC call; throws {@link AnvilError} for an error reply. */
  call(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Several calls in one request; their results in order. Throws {@link AnvilError} for the first error reply. */
  callAll(calls: readonly AnvilCall[]): Promise<unknown[]>;
  /** Ends the process at once; may be called twice. */
  stop(): Promise<void>;
};

/** The chain's own refusal of a call. `data` is what the contract gave as the reason, where it gave one. */
export class AnvilError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(method: string, code: number, message: string, data: unknown) {
    super(`${method}: ${message}`);
    this.name = "AnvilError";
    this.code = code;
    this.data = data;
  }
}

/** Starts an Ethereum chain for tests on 127.0.0.1 and waits until it listens. Throws when it is not installed or does not come up. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const { url, port, said, stop } = await startAnvilProcess(commandLine(options));
  return { url, wsUrl: `ws://127.0.0.1:${port}`, port, accounts: accountsOf(said), ...caller(url), stop };
}

function commandLine(o: AnvilOptions): string[] {
  const line = ["--port", String(o.port ?? 0), "--chain-id", String(o.chainId ?? 31337)];
  if (o.blockTimeSec !== undefined) line.push("--block-time", String(o.blockTimeSec));
  if (o.noMining === true) line.push("--no-mining");
  if (o.timestampSec !== undefined) line.push("--timestamp", String(o.timestampSec));
  if (o.hardfork !== undefined) line.push("--hardfork", o.hardfork);
  return [...line, ...(o.args ?? [])];
}

function accountsOf(said: string): AnvilAccount[] {
  const addresses = [...said.matchAll(/\(\d+\) (0x[0-9a-fA-F]{40})\b/g)].map((m) => (m[1] ?? "").toLowerCase());
  const keys = [...said.matchAll(/\(\d+\) (0x[0-9a-f]{64})\b/g)].map((m) => m[1] ?? "");
  if (addresses.length === 0 || addresses.length !== keys.length) throw new Error("anvil printed no accounts");
  return addresses.map((address, i) => ({ address, privateKey: keys[i] ?? "" }));
}

type Reply = {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

function caller(url: string): Pick<Anvil, "call" | "callAll"> {
  let nextId = 1;
  const post = async (body: unknown): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.timeout(CALL_MS);
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
  };
  const resultOf = (method: string, { result, error }: Reply): unknown => {
    if (error !== undefined) throw new AnvilError(method, error.code, error.message, error.data);
    return result;
  };
  return {
    async call(method, params = []) {
      return resultOf(method, (await post({ jsonrpc: "2.0", id: nextId++, method, params })) as Reply);
    },
    async callAll(calls) {
      const first = nextId;
      nextId += calls.length;
      const replies = (await post(calls.map(({ method, params }, i) => ({ jsonrpc: "2.0", id: first + i, method, params })))) as Reply[];
      const byId = new Map(replies.map((reply) => [reply.id, reply]));
      return calls.map(({ method }, i) => {
        const reply = byId.get(first + i);
        if (reply === undefined) throw new Error(`${method}: no reply in the batch`);
        return resultOf(method, reply);
      });
    },
  };
}
