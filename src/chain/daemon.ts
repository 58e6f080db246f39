import type { Clock } from "../ports/clock.ts";
import type { EmbeddedChain } from "./embeddedChain.ts";
import { Faults } from "./faults.ts";
import { Args } from "./rpc/args.ts";
import { BLOCK_METHODS } from "./rpc/blockMethods.ts";
import { CONTROL_METHODS } from "./rpc/controlMethods.ts";
import { faultMethods } from "./rpc/faultMethods.ts";
import { INFO_METHODS } from "./rpc/infoMethods.ts";
import { MEMPOOL_METHODS } from "./rpc/mempoolMethods.ts";
import type { RpcContext, RpcMethod, RpcMethods } from "./rpc/method.ts";
import { RPC_CODE, RpcError } from "./rpc/rpcError.ts";
import { TX_METHODS } from "./rpc/txMethods.ts";
import { WALLET_METHODS } from "./rpc/walletMethods.ts";

export type DaemonOptions = {
  /** Confirmed transactions are found by id alone, as with a daemon's `-txindex`. Default false. */
  readonly txIndex?: boolean;
  /** Called, once per call, when `stop` was answered. */
  readonly onStop?: () => void;
  /** Further methods, of servers that stand on this daemon. */
  readonly methods?: RpcMethods;
};

/**
 * A coin daemon without its transport: what `bitcoind`, `litecoind` or `komodod` answer to JSON-RPC, over one embedded
 * chain, and the control methods of ours with the prefix `chain_`.
 */
export class ChainDaemon {
  readonly chain: EmbeddedChain;
  readonly #faults: Faults;
  readonly #context: RpcContext;
  readonly #methods: RpcMethods;

  constructor(chain: EmbeddedChain, clock: Clock, options: DaemonOptions = {}) {
    this.chain = chain;
    this.#faults = new Faults(clock);
    this.#context = {
      chain,
      txIndex: options.txIndex ?? false,
      heightLie: () => this.#faults.heightLie(),
      feeEstimate: "auto",
      stop: () => options.onStop?.(),
    };
    this.#methods = {
      ...BLOCK_METHODS,
      ...TX_METHODS,
      ...MEMPOOL_METHODS,
      ...WALLET_METHODS,
      ...INFO_METHODS,
      ...CONTROL_METHODS,
      ...faultMethods(this.#faults),
      ...options.methods,
    };
  }

  /** Methods this daemon's dialect has. */
  methodNames(): readonly string[] {
    return Object.keys(this.#methods).filter((name) => this.#find(name) !== undefined);
  }

  #find(name: string): RpcMethod | undefined {
    const method = Object.hasOwn(this.#methods, name) ? this.#methods[name] : undefined;
    const dialect = this.chain.params.kind === "kmd" ? "kmd" : "core";
    return method?.only === undefined || method.only === dialect ? method : undefined;
  }

  /**
   * One call. The answer is plain JSON data of its own.
   * @param params list or object of parameters, from outside
   * @throws RpcError for what a daemon refuses; TransportFault when a fault breaks the connection
   */
  async call(name: string, params: unknown = []): Promise<unknown> {
    const work = (): unknown => this.answer(name, params);
    return name.startsWith("chain_") || !this.#find(name) ? work() : this.#faults.around(name, work);
  }

  /** The same without faults, at once: for a server that stands on this daemon. */
  answer(name: string, params: unknown = []): unknown {
    const method = this.#find(name);
    if (!method) throw new RpcError(RPC_CODE.methodNotFound, "Method not found");
    const result = method.run(this.#context, new Args(positions(name, method, params)));
    if (typeof result === "string" || typeof result === "boolean") return result;
    if (Array.isArray(result) && result.every((item) => typeof item === "string")) return [...result];
    if (result === undefined) return null;
    return isFlat(result) ? { ...result } : JSON.parse(JSON.stringify(result));
  }

  /** Ends faults, held calls and the miner's timer. */
  close(): void {
    this.#faults.close();
    this.chain.stop();
  }
}

/** An object of texts, truth values and numbers that JSON can hold: a copy of it is what JSON would make of it. */
function isFlat(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "toJSON" in value) return false;
  for (const member of Object.values(value)) {
    if (typeof member !== "string" && typeof member !== "boolean" && member !== null && !Number.isFinite(member)) return false;
  }
  return true;
}

function positions(name: string, method: RpcMethod, params: unknown): readonly unknown[] {
  const usage = (): string => `${name} ${method.params.map((p, i) => (i < (method.required ?? 0) ? p : `( ${p} )`)).join(" ")}`.trim();
  let list: readonly unknown[];
  if (Array.isArray(params)) list = params;
  else if (params === null || params === undefined) list = [];
  else if (typeof params === "object") {
    const named = params as { readonly [key: string]: unknown };
    const unknownName = Object.keys(named).find((k) => !method.params.includes(k));
    if (unknownName !== undefined) throw new RpcError(RPC_CODE.parameter, `Unknown named parameter ${unknownName}`);
    list = method.params.map((p) => named[p]);
  } else throw new RpcError(RPC_CODE.invalidRequest, "Params must be an array or object");
  const given = list.findLastIndex((v) => v !== undefined) + 1;
  if (given < (method.required ?? 0) || list.length > method.params.length) throw new RpcError(RPC_CODE.misc, usage());
  return list;
}
